"""The documents of the 2002 paper's Reuters-21578: ModApte, and the topics of both its halves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.corpora import SourceError
from pipeline.corpora.reuters21578 import Reuters21578, Story

FEWEST = 10  # two in each of five folds
FEWEST_TOPICS = 2
STEM = 5  # letters


@dataclass(frozen=True, slots=True)
class ReutersDocuments:
    """Stories in order of date, and the topics of each by their numbers."""

    stories: Sequence[Story]
    topics: Sequence[Sequence[int]]
    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.stories)

    def texts(self) -> list[str]:
        """What is read of each story: its headline and its text."""
        return [f"{story.title}\n{story.text}" for story in self.stories]

    def enriched_texts(self) -> list[str]:
        """The same with more to go by; see `enriched`."""
        return [enriched(story.title, story.text) for story in self.stories]

    def some(self, count: int, seed: int) -> ReutersDocuments:
        """So many of them, drawn at random, in their order."""
        numbers = np.sort(np.random.default_rng(seed).permutation(len(self))[:count])
        stories = [self.stories[i] for i in numbers]
        return ReutersDocuments(stories, [self.topics[i] for i in numbers], self.names)


def enriched(title: str, text: str) -> str:
    r"""A story whose headline counts twice and once more by itself, with the stems of its words.

    Every word of the headline is also a term of its own, and so are the first letters of longer
    words, for a stem. They are marked by being glued to another word, as a tokenizer that knows
    letters only would drop any other mark.

    >>> enriched("Wheat up", "Prices rose.")
    'Wheat up\nWheat up\nPrices rose.\nheadlinewheat headlineup\nstemprice'
    """
    headline, words = plain_words(title), plain_words(f"{title}\n{text}")
    marked = " ".join(f"headline{word}" for word in headline)
    stems = " ".join(f"stem{word[:STEM]}" for word in words if len(word) > STEM)
    return "\n".join((title, title, text, marked, stems))


def plain_words(text: str) -> list[str]:
    """The words of a text, of nothing but letters."""
    return re.sub(r"[^a-z\s]", "", text.lower()).split()


def the_90_topics(path: Path) -> ReutersDocuments:
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
    return ReutersDocuments(chosen, topics, names)
