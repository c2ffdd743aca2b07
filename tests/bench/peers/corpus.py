"""The documents of a comparison: synthetic newswire, in a folder that all programs read."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from pipeline.corpora.synthetic_newswire import SyntheticNewswire


class Corpus(NamedTuple):
    """The size of a corpus."""

    topics: int
    documents: int
    words: int = 180  # in the text of a document, in the mean

    @property
    def key(self) -> str:
        """The name of its folder."""
        return f"topics-{self.topics}-documents-{self.documents}-words-{self.words}"


def write_corpus(corpus: Corpus, folder: Path) -> Path:
    """Write the events and the names of the topics, unless they are there; returns the folder.

    The topics are listed in random order. The most popular first would help every program to break
    ties.
    """
    place = folder / corpus.key
    if not (place / "topics.txt").exists():
        place.mkdir(parents=True, exist_ok=True)
        source = SyntheticNewswire(
            documents=corpus.documents, topics=corpus.topics, words=corpus.words
        )
        (place / "events.jsonl").write_bytes(b"\n".join(source) + b"\n")
        order = np.random.default_rng(0).permutation(corpus.topics)
        names = [source.topics[i] for i in order]
        (place / "topics.txt").write_text("\n".join(names) + "\n")
    return place
