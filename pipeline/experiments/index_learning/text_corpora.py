"""20 Newsgroups and the ten largest classes of Reuters-21578: texts with one class each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from learners.arrays import Ints
from pipeline.corpora import SourceError
from pipeline.corpora.newsgroups import Newsgroups
from pipeline.corpora.reuters21578 import Reuters21578

LARGEST = 10
FEWEST = 3  # one to learn, one to choose settings, one to test


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts, and the number of the class of each."""

    texts: Sequence[str]
    labels: Ints
    classes: Sequence[str]

    def sample(self, count: int, seed: int) -> Texts:
        """A random sample of `count` texts."""
        numbers = np.random.default_rng(seed).permutation(len(self.texts))[:count]
        return Texts([self.texts[i] for i in numbers], self.labels[numbers], self.classes)


def newsgroups(path: Path) -> Texts:
    """All posts as subject and body; the rest of the header is left out, as it names the group."""
    posts = [orjson.loads(raw) for raw in Newsgroups(path, order="shuffled")]
    texts = [f"{post.get('title', '')}\n{post['text']}" for post in posts]
    return classified(path, texts, [post["topics"][0] for post in posts])


def reuters_largest(path: Path) -> Texts:
    """The stories of the ten largest topics, each with its last topic only (`labels=last`)."""
    stories = Reuters21578(path, classes=LARGEST, labels="last").stories
    texts = [f"{story.title}\n{story.text}" for story in stories]
    return classified(path, texts, [story.topics[0] for story in stories])


def classified(path: Path, texts: Sequence[str], names: Sequence[str]) -> Texts:
    """Texts with their classes numbered by name; an error if there are too few of them."""
    classes = sorted(set(names))
    if len(classes) < 2 or len(texts) < FEWEST:
        raise SourceError(
            f"{path} has {len(texts)} documents of {len(classes)} classes; expected at least two "
            f"classes and {FEWEST} documents"
        )
    number = {name: i for i, name in enumerate(classes)}
    return Texts(texts, np.array([number[name] for name in names], np.int32), classes)
