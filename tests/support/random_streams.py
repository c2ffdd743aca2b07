"""Random streams for learners: documents as dicts, labels at once, late or never."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from learners.segment import Rows, Segment, Steps

Document = dict[str, float]


@dataclass
class Happening:
    """One step of a stream: a row is ranked (no topics) or learned (its topics)."""

    row: int
    topics: tuple[str, ...] | None
    known: list[str]


@dataclass
class Stream:
    """Documents and what happens to them, with terms and topics numbered by first appearance."""

    documents: list[Document] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)

    def segment(self, start: int, stop: int) -> Segment:
        """The happenings from `start` to `stop`, with the rows that they need."""
        part = self.happenings[start:stop]
        rows = sorted({h.row for h in part})
        place = {row: i for i, row in enumerate(rows)}
        seen = max((h.row for h in self.happenings[:stop] if h.topics is None), default=-1)
        terms = len(self._features_until(seen))
        lengths = [len(self.documents[row]) for row in rows]
        number = {feature: i for i, feature in enumerate(self.features)}
        labels = [[h.known.index(t) for t in h.topics or ()] for h in part]
        ranked = {h.row: len(h.known) for h in self.happenings if h.topics is None}
        # A stream may lack the ranking of a row, as if that had been in an earlier segment.
        return Segment(
            Rows(
                np.cumsum([0, *lengths]).astype(np.int64),
                np.array([number[f] for row in rows for f in self.documents[row]], np.int32),
                np.array([v for row in rows for v in self.documents[row].values()], np.float64),
            ),
            Steps(
                np.array([place[h.row] for h in part], np.int32),
                np.array([h.topics is not None for h in part], np.bool_),
                np.array([len(h.known) for h in part], np.int32),
                np.cumsum([0, *map(len, labels)]).astype(np.int64),
                np.array([label for row in labels for label in row], np.int32),
                np.array([ranked.get(h.row, len(h.known)) for h in part], np.int32),
            ),
            terms,
            max((len(h.known) for h in self.happenings[:stop]), default=0),
        )

    def rows(self, start: int, stop: int) -> list[int]:
        """Which documents the rows of that segment are."""
        return sorted({h.row for h in self.happenings[start:stop]})

    def _features_until(self, row: int) -> list[str]:
        return list(dict.fromkeys(f for document in self.documents[: row + 1] for f in document))


def random_stream(
    seed: int, length: int = 60, whole_numbers: bool = False, values: Sequence[float] = ()
) -> Stream:
    """A stream with new terms and topics throughout; about a quarter of the labels come late.

    Whole numbers as values make exact ties frequent, which is where rankings go wrong first; other
    `values` can be given instead.
    """
    values = values or ((-1.0, 1.0, 1.0, 2.0) if whole_numbers else ())
    rng = random.Random(seed)
    stream = Stream()
    late: list[tuple[int, tuple[str, ...]]] = []
    for row in range(length):
        document = random_document(rng, row, values)
        stream.documents.append(document)
        stream.happenings.append(Happening(row, None, list(stream.topics)))
        count = rng.choice((0, 1, 1, 2, 3, 8))
        topics = tuple(rng.sample([f"t{i}" for i in range(min(9, 3 + row // 8))], k=min(count, 3)))
        if rng.random() < 0.1:
            topics = tuple(stream.topics)  # all of them
        fate = rng.random()
        if fate < 0.6:
            learn(stream, row, topics)
        elif fate < 0.9:
            late.append((row, topics))
        while late and rng.random() < 0.3:
            learn(stream, *late.pop(rng.randrange(len(late))))
    stream.features = list(dict.fromkeys(f for document in stream.documents for f in document))
    return stream


def random_document(rng: random.Random, row: int, values: Sequence[float]) -> Document:
    """Between zero and a dozen features, the later ones only in later documents."""
    names = rng.sample([f"f{i}" for i in range(12 + row // 3)], k=rng.randrange(12))
    if values:
        return {name: rng.choice(values) for name in names}
    return {name: rng.gauss(0.0, 1.0) for name in names}


def learn(stream: Stream, row: int, topics: Sequence[str]) -> None:
    """Add a learning step; its topics become known."""
    for topic in topics:
        if topic not in stream.topics:
            stream.topics.append(topic)
    stream.happenings.append(Happening(row, tuple(topics), list(stream.topics)))


def learned(
    labels: Sequence[Sequence[int]], topics: int, ranked: Sequence[int] | None = None
) -> Steps:
    """Learn rows one after the other; all topics are known, and were when `ranked` says nothing."""
    return Steps(
        np.arange(len(labels), dtype=np.int32),
        np.ones(len(labels), np.bool_),
        np.full(len(labels), topics, np.int32),
        np.cumsum([0, *map(len, labels)]).astype(np.int64),
        np.array([label for row in labels for label in row], np.int32),
        np.array([topics] * len(labels) if ranked is None else ranked, np.int32),
    )
