"""What a lane decided about the documents of a segment: candidates, probabilities, the set."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Floats, Ints

CANDIDATES = 20  # the topics at the top of a ranking that can be assigned


class StoredDecision(NamedTuple):
    """What was decided about one document, copied: one element per candidate, best score first."""

    topics: Ints
    scores: Floats
    probabilities: Floats
    assigned: Bools
    certainty: float
    review: bool


class Decisions(NamedTuple):
    """What was decided about the rows of a segment: rows x candidates."""

    topics: Ints  # best score first; -1: no more
    scores: Floats
    probabilities: Floats
    assigned: Bools
    certainty: Floats  # per row: the expected F1 of the assigned set
    review: Bools  # per row: whether a person should look at the document

    @classmethod
    def new(cls, rows: int) -> Decisions:
        """Room for the decisions about this many rows."""
        shape = (rows, CANDIDATES)
        return cls(
            np.full(shape, -1, np.int32), np.zeros(shape), np.zeros(shape),
            np.zeros(shape, np.bool_), np.zeros(rows), np.zeros(rows, np.bool_),
        )  # fmt: skip

    def keep(self, row: int) -> StoredDecision:
        """The decision about a row, to be put back later."""
        count = int(np.count_nonzero(self.topics[row] >= 0))
        return StoredDecision(
            self.topics[row, :count].copy(),
            self.scores[row, :count].copy(),
            self.probabilities[row, :count].copy(),
            self.assigned[row, :count].copy(),
            float(self.certainty[row]),
            bool(self.review[row]),
        )

    def put(self, row: int, kept: StoredDecision) -> None:
        """Write a kept decision to a row."""
        count = len(kept.topics)
        self.topics[row, :count] = kept.topics
        self.scores[row, :count] = kept.scores
        self.probabilities[row, :count] = kept.probabilities
        self.assigned[row, :count] = kept.assigned
        self.certainty[row], self.review[row] = kept.certainty, kept.review
