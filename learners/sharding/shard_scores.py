"""The scores of one shard: those of its own topics, and what all shards found out together."""

from __future__ import annotations

from typing import Self

import numpy as np

from learners.arrays import Floats, Ints
from learners.scores import (
    NO_BEST,
    Best,
    Places,
    Scores,
    ScoresMismatchError,
    StoredScores,
    no_places,
)
from learners.segment import Steps
from learners.sharding.topic_slice import TopicSlice


class ShardScores(Scores):
    """A table of rows x own topics; for all topics, the best ones and the places of labels."""

    def __init__(self, rows: int, topics: int, own: TopicSlice, top: int) -> None:
        self.slice = own
        self.own: Floats = np.zeros((rows, own.count(topics)))
        self.topics = topics
        self.order: Ints = np.full((rows, top), -1, np.int32)  # best first; -1: no more
        self.values: Floats = np.zeros((rows, top))
        self._places: Places | None = None

    @classmethod
    def new(cls, rows: int, topics: int) -> Self:
        """The scores of the only shard, which exchanges no rankings."""
        return cls(rows, topics, TopicSlice(0, 1), 0)

    @property
    def shape(self) -> tuple[int, int]:
        """The rows, and the topics of all shards."""
        return len(self.own), self.topics

    def row(self, row: int, known: int) -> Floats:
        """See `Scores.row`; a shard does not know the scores of all topics."""
        raise ScoresMismatchError("A shard has only the scores of its own topics.")

    def table(self) -> Floats:
        """See `Scores.table`; a shard does not know the scores of all topics."""
        raise ScoresMismatchError("A shard has only the scores of its own topics.")

    def keep(self, row: int, known: int) -> StoredScores:
        """The scores of its own topics that were known, to be put back later."""
        return StoredScores(self.own[row, : self.slice.count(known)].copy())

    def put(self, row: int, kept: StoredScores) -> None:
        """Write kept scores of its own topics."""
        self.own[row, : len(kept.values)] = kept.values

    def best(self, known: Ints, top: int, first: int = 0) -> tuple[Ints, Floats]:
        """The best topics of all shards, as many as were exchanged."""
        order, values = np.full((len(known), top), -1, np.int32), np.zeros((len(known), top))
        width = min(top, self.order.shape[1])
        rows = slice(first, first + len(known))
        order[:, :width], values[:, :width] = self.order[rows, :width], self.values[rows, :width]
        return order, values

    def set_places(self, places: Places) -> None:
        """Take the places of the labels that were learned last."""
        self._places = places

    def places(self, steps: Steps, best: Best = NO_BEST) -> Places:
        """The ranks of the labels of these steps, which must be those that were followed last."""
        return no_places(steps) if self._places is None else self._places
