"""The weights of one lane, with the names of its terms and topics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from learners.arrays import Floats, Longs
from learners.weight_rows import WeightRows
from pipeline.engine.lane import Lane
from pipeline.errors import UsageError
from pipeline.models.frozen_lanes import FrozenLanes
from pipeline.text.features import Vocabulary
from pipeline.text.sip_hash import sip_hash
from pipeline.text.terms import MAX_TERM_BYTES, find

NUMBERS_AT_ONCE = 1 << 21
TERMS_AT_ONCE = 1 << 12


@dataclass(frozen=True, slots=True)
class LaneWeights:
    """A lane whose scores are sums over the terms of a document.

    The score of a column is its bias, plus the sum of value times weight over the terms. A column
    is a topic. Lanes that learn ranks have a column for each rank, or one that is called `score`.
    """

    part: FrozenLanes
    lane: Lane
    columns: list[str]

    @property
    def vocabulary(self) -> Vocabulary:
        """The terms of the lane."""
        return self.part.engine.vocabulary

    @property
    def biases(self) -> Floats:
        """What each column has in its score whatever the terms are."""
        return self.lane.learner.biases(len(self.columns))

    @property
    def thresholds(self) -> Floats:
        """The thresholds between ranks; empty for most learners."""
        return self.lane.learner.ranking_thresholds

    @property
    def documents(self) -> Longs:
        """In how many texts each term occurs."""
        return self.vocabulary.arrays.df[: len(self.vocabulary)]

    def rows(self, terms: Longs) -> WeightRows:
        """Return the weights of these terms that are not 0; unknown terms have none."""
        rows = self.lane.learner.ranking_weights(terms)
        if rows is None:
            raise UsageError(why_nonlinear(self.lane))
        return rows

    def blocks(self) -> Iterator[tuple[int, WeightRows]]:
        """Yield the weights of all terms, in blocks of bounded size with their first terms."""
        size = self.terms_at_once
        for first in range(0, len(self.vocabulary), size):
            last = min(first + size, len(self.vocabulary))
            yield first, self.rows(np.arange(first, last, dtype=np.int64))

    @property
    def terms_at_once(self) -> int:
        """How many terms to take at once, so that memory stays bounded."""
        if self.lane.learner.has_sparse_model:
            return TERMS_AT_ONCE
        return min(TERMS_AT_ONCE, max(1, NUMBERS_AT_ONCE // max(1, len(self.columns))))


def lane_weights(part: FrozenLanes, lane: Lane) -> LaneWeights | None:
    """Return the weights of a lane; None if its scores are not sums over terms."""
    if lane.learner.nonlinear:
        return None
    if not lane.is_ordinal:
        return LaneWeights(part, lane, part.engine.topics.names)
    _, columns = lane.learner.weight_shape
    names = ["score"] if columns == 1 else [f"rank {i + 1}" for i in range(columns)]
    return LaneWeights(part, lane, names)


def why_nonlinear(lane: Lane) -> str:
    """Return why the weights of a lane cannot be shown, and what can be done instead."""
    message = f"Lane {lane.name} has no weights of terms: {lane.learner.nonlinear}"
    if lane.combines:
        message += (
            f" `wirerank inspect` shows its weights of lanes. Ask for a lane that it combines: "
            f"{', '.join(lane.combines)}."
        )
    return message


def number_of_term(vocabulary: Vocabulary, term: str) -> int | None:
    """Return the number of a term; None if the vocabulary does not have it."""
    encoded = np.frombuffer(bytearray(term.encode("utf-8", "surrogateescape")), np.uint8)
    if not 0 < len(encoded) <= MAX_TERM_BYTES:
        return None
    table = vocabulary.table
    hashed = np.uint64(sip_hash(encoded, 0, len(encoded), table.key))
    number = find(table, encoded, 0, len(encoded), hashed)
    return number if number >= 0 else None
