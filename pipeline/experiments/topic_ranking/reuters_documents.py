"""The documents that the 2002 paper takes from Reuters-21578: the ModApte split."""

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
    """Stories in order of date, and the numbers of the topics of each."""

    stories: Sequence[Story]
    topics: Sequence[Sequence[int]]
    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.stories)

    def texts(self) -> list[str]:
        """The headline and the text of each story."""
        return [f"{story.title}\n{story.text}" for story in self.stories]

    def enriched_texts(self) -> list[str]:
        """The texts with additional terms; see `enriched`."""
        return [enriched(story.title, story.text) for story in self.stories]

    def sample(self, count: int, seed: int) -> ReutersDocuments:
        """A random sample of `count` stories, in order of date."""
        numbers = np.sort(np.random.default_rng(seed).permutation(len(self))[:count])
        stories = [self.stories[i] for i in numbers]
        return ReutersDocuments(stories, [self.topics[i] for i in numbers], self.names)


def enriched(title: str, text: str) -> str:
    r"""A story with its headline twice, its headline words as own terms, and stems of its words.

    The stem of a longer word is its first letters. The prefix of headline words and stems consists
    of letters, because a tokenizer that keeps only letters would drop any other mark.

    >>> enriched("Wheat up", "Prices rose.")
    'Wheat up\nWheat up\nPrices rose.\nheadlinewheat headlineup\nstemprice'
    """
    headline, words = plain_words(title), plain_words(f"{title}\n{text}")
    marked = " ".join(f"headline{word}" for word in headline)
    stems = " ".join(f"stem{word[:STEM]}" for word in words if len(word) > STEM)
    return "\n".join((title, title, text, marked, stems))


def plain_words(text: str) -> list[str]:
    """The words of a text, in lower case and reduced to letters."""
    return re.sub(r"[^a-z\s]", "", text.lower()).split()


def the_90_topics(path: Path) -> ReutersDocuments:
    """The stories with at least one topic that occurs in both halves of ModApte, and those topics.

    There are 90 such topics and 10,789 such documents. The paper has the same number of documents
    but 91 topics, and does not say how it counts them.
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
            f"halves; expected at least {FEWEST} stories of {FEWEST_TOPICS} topics"
        )
    topics = [[number[name] for name in story.topics if name in number] for story in chosen]
    return ReutersDocuments(chosen, topics, names)
