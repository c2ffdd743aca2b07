"""The documents of the 2002 paper's Reuters-21578: ModApte, and the topics of both its halves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.corpora import SourceError
from pipeline.corpora.reuters21578 import Reuters21578, Story

FEWEST = 10  # two in each of five folds
FEWEST_TOPICS = 2


@dataclass(frozen=True, slots=True)
class Wire:
    """Stories in order of date, and the topics of each by their numbers."""

    stories: Sequence[Story]
    topics: Sequence[Sequence[int]]
    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.stories)

    def texts(self, headlines: int = 1) -> list[str]:
        """What is read of each story: its headline, so many times, and its text."""
        return ["\n".join((*[story.title] * headlines, story.text)) for story in self.stories]

    def some(self, count: int, seed: int) -> Wire:
        """So many of them, drawn at random, in their order."""
        numbers = np.sort(np.random.default_rng(seed).permutation(len(self))[:count])
        stories = [self.stories[i] for i in numbers]
        return Wire(stories, [self.topics[i] for i in numbers], self.names)


def the_90_topics(path: Path) -> Wire:
    """Stories with at least one topic that occurs in both halves of ModApte, and those topics.

    There are 90 of them; the paper, which does not say how it counts, has 91 topics and the same
    10,789 documents.
    """
    stories = [story for story in Reuters21578(path).stories if story.modapte]
    halves = {
        half: {topic for story in stories if story.modapte == half for topic in story.topics}
        for half in ("train", "test")
    }
    names = sorted(halves["train"] & halves["test"])
    number = {name: i for i, name in enumerate(names)}
    chosen = [story for story in stories if number.keys() & set(story.topics)]
    if len(names) < FEWEST_TOPICS or len(chosen) < FEWEST:
        raise SourceError(
            f"{path} has {len(chosen)} ModApte stories of {len(names)} topics that occur in both "
            f"halves; expected at least {FEWEST} of {FEWEST_TOPICS}"
        )
    topics = [[number[name] for name in story.topics if name in number] for story in chosen]
    return Wire(chosen, topics, names)
