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
from pipeline.corpora.reuters21578 import Reuters21578

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


def reuters_largest(path: Path) -> Texts:
    """The stories of the ten largest topics, each with the last of its own (`labels=last`)."""
    stories = Reuters21578(path, classes=LARGEST, labels="last").stories
    sizes = Counter(story.topics[0] for story in stories)
    if len(sizes) < 2:
        raise SourceError(f"{path} has stories of {len(sizes)} topics; expected at least two")
    classes = sorted(sizes)
    number = {topic: i for i, topic in enumerate(classes)}
    labels = np.array([number[story.topics[0]] for story in stories], np.int32)
    return Texts([f"{story.title}\n{story.text}" for story in stories], labels, classes)
