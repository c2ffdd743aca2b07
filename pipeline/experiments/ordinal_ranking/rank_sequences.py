"""Sequences of vectors with ranks, and the loss of a method on them in every round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Longs
from learners.scores import RANK, RankScores
from learners.segment import Rows, Segment, Steps
from learners.specs import parse_spec

POINTS = 80  # of a curve, approximately; evenly spaced on a log scale


class RankSequence(NamedTuple):
    """A sequence of rounds: one vector per round, and its rank, counted from 1."""

    vectors: Floats
    ranks: Longs


@dataclass(frozen=True, slots=True)
class OrdinalMethod:
    """A method of a comparison: a lane, and a grid of values for one of its settings.

    The value is chosen on held-out sequences and replaces `{}` in `spec`. If the method is
    `scaled`, the value instead multiplies all features. With `constant`, a feature that is always
    1 is added. A method without a spec is the best constant rank, known only in hindsight.
    """

    key: str
    label: str
    colour: str
    spec: str
    grid: tuple[float, ...] = ()
    scaled: bool = False
    constant: bool = False
    ours: bool = False  # not in the paper

    def name(self, value: float | None) -> str:
        """The name in tables, with the chosen value."""
        chosen = [f"{'scale' if self.scaled else 'rate'} {value:g}"] if self.grid else []
        marks = chosen + (["ours"] if self.ours else [])
        return f"{self.label} ({', '.join(marks)})" if marks else self.label


def as_segment(sequence: RankSequence, ranks: int) -> Segment:
    """A segment that ranks each vector and then learns it; features of value 0 are left out."""
    vectors, labels = sequence
    length, features = vectors.shape
    rounds, terms = np.nonzero(vectors)
    starts = np.concatenate(([0], np.cumsum(np.bincount(rounds, minlength=length))))
    rows = Rows(starts.astype(np.int64), terms.astype(np.int32), vectors[rounds, terms])
    known = np.full(2 * length, ranks, np.int32)
    steps = Steps(
        np.repeat(np.arange(length, dtype=np.int32), 2), np.tile([False, True], length),
        known, np.arange(2 * length + 1, dtype=np.int64) // 2, (labels - 1).astype(np.int32), known,
    )  # fmt: skip
    return Segment(rows, steps, features, ranks)


def losses_of(
    method: OrdinalMethod, value: float | None, sequence: RankSequence, ranks: int
) -> Longs:
    """The distance of the predicted rank from the true one, in every round."""
    vectors, true = sequence
    if not method.spec:
        median = int(np.sort(true)[(len(true) - 1) // 2])  # the constant with the smallest loss
        return np.abs(true - median)
    if method.scaled and value is not None:
        vectors = vectors * value
    if method.constant:
        vectors = np.hstack([vectors, np.ones((len(vectors), 1))])
    learner = parse_spec(method.spec.format(value)).build()
    scores = RankScores(len(true))
    learner.follow(as_segment(RankSequence(vectors, true), ranks), scores)
    losses: Longs = np.abs(scores.matrix[:, RANK].astype(np.int64) - true)
    return losses


def kept_rounds(rounds: int, shown: Sequence[int]) -> list[int]:
    """The rounds at which a curve is kept: those of the table, the last one, and many between.

    >>> kept_rounds(12, [5])
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    """
    between = np.round(np.geomspace(1, rounds, POINTS)).astype(int).tolist()
    return sorted({*between, rounds, *(r for r in shown if r <= rounds)})
