"""What a lane decided about the documents of a segment: candidates, probabilities, the set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs

CANDIDATES = 20  # the topics at the top of a ranking that can be assigned

# The decision about one document, packed.
RECORD = np.dtype(
    [
        ("topics", np.int32, CANDIDATES),
        ("scores", np.float64, CANDIDATES),
        ("probabilities", np.float64, CANDIDATES),
        ("assigned", np.bool_, CANDIDATES),
        ("certainty", np.float64),
        ("review", np.bool_),
        ("known", np.int32),
    ]
)


class Decisions(NamedTuple):
    """What was decided about the rows of a segment: rows x candidates."""

    topics: Ints  # best score first, or in the order of the ranking; -1: no more
    scores: Floats
    probabilities: Floats
    assigned: Bools
    certainty: Floats  # per row: the expected F1 of the assigned set
    review: Bools  # per row: whether a person should look at the document
    known: Ints  # per row: the topics that existed when it was ranked

    @classmethod
    def new(cls, rows: int) -> Decisions:
        """Room for the decisions about this many rows."""
        shape = (rows, CANDIDATES)
        return cls(
            np.full(shape, -1, np.int32), np.zeros(shape), np.zeros(shape),
            np.zeros(shape, np.bool_), np.zeros(rows), np.zeros(rows, np.bool_),
            np.zeros(rows, np.int32),
        )  # fmt: skip

    def keep(self, rows: Sequence[int] | Longs) -> list[bytes]:
        """The decisions about these rows, each packed, to be put back later."""
        records, chosen = np.zeros(len(rows), RECORD), np.array(rows, np.int64)
        arrays: Sequence[npt.NDArray[np.generic]] = self
        for name, array in zip(self._fields, arrays, strict=True):
            records[name] = array[chosen]
        packed, size = records.tobytes(), RECORD.itemsize
        return [packed[start : start + size] for start in range(0, len(packed), size)]

    @classmethod
    def unpack(cls, kept: Sequence[bytes]) -> Decisions:
        """The decisions that `keep` packed, one per row."""
        records = np.frombuffer(b"".join(kept), RECORD)
        # Copies: a part of a single record is one piece of memory, but is not aligned.
        return cls(*(records[name].copy() for name in cls._fields))

    def put(self, first: int, kept: Sequence[bytes]) -> None:
        """Write kept decisions to the rows from `first` on."""
        rows, put = slice(first, first + len(kept)), self.unpack(kept)
        self.topics[rows], self.scores[rows] = put.topics, put.scores
        self.probabilities[rows], self.assigned[rows] = put.probabilities, put.assigned
        self.certainty[rows], self.review[rows] = put.certainty, put.review
        self.known[rows] = put.known
