"""20 Newsgroups and the ten largest classes of Reuters-21578: texts with one class each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from learners.segment import Ints
from pipeline.corpora import SourceError
from pipeline.corpora.newsgroups import Newsgroups
from pipeline.corpora.reuters21578 import Reuters21578, Story

LARGEST = 10


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts, and the class of each by its number."""

    texts: Sequence[str]
    labels: Ints
    classes: Sequence[str]

    def first(self, count: int, seed: int) -> Texts:
        """So many of them, drawn at random."""
        some = np.random.default_rng(seed).permutation(len(self.texts))[:count]
        return Texts([self.texts[i] for i in some], self.labels[some], self.classes)


def newsgroups(path: Path) -> Texts:
    """All posts: subject and body, without the rest of the header, which names the group."""
    posts = [orjson.loads(raw) for raw in Newsgroups(path, order="shuffled")]
    classes = sorted({post["topics"][0] for post in posts})
    if len(classes) < 2:
        raise SourceError(f"{path} has posts of {len(classes)} group; expected several groups")
    number = {name: i for i, name in enumerate(classes)}
    texts = [f"{post.get('title', '')}\n{post['text']}" for post in posts]
    return Texts(texts, np.array([number[p["topics"][0]] for p in posts], np.int32), classes)


def reuters_largest(path: Path, seed: int) -> Texts:
    """All stories with a class that is among the ten largest."""
    return largest_classes(Reuters21578(path).stories, LARGEST, seed, path)


def largest_classes(stories: Sequence[Story], count: int, seed: int, path: Path) -> Texts:
    """The stories of the largest classes; of a story's several ones among them one is drawn.

    With ten classes of the whole collection these are 9,400 stories, 0.42 of them of the largest
    class, as in the paper; those with a single label would be 7,878, 0.50 of them of the largest.
    """
    sizes = Counter(topic for story in stories for topic in set(story.topics))
    if len(sizes) < 2:
        raise SourceError(f"{path} has stories of {len(sizes)} topics; expected at least two")
    largest = sorted(sizes, key=lambda topic: (-sizes[topic], topic))[:count]
    number = {topic: i for i, topic in enumerate(largest)}
    draw = np.random.default_rng(seed)
    texts, labels = [], []
    for story in stories:
        mine = sorted({number[topic] for topic in story.topics if topic in number})
        if mine:
            texts.append(f"{story.title}\n{story.text}")
            labels.append(mine[int(draw.integers(len(mine)))])
    return Texts(texts, np.array(labels, np.int32), largest)
