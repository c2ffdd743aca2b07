"""A lane: one learner configuration that follows the stream, and its curve."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from learners.arrays import Floats, Longs
from learners.index.base import IndexLearner
from learners.jit import njit
from learners.learner import Learner
from learners.ordinal.base import OrdinalLearner
from learners.scores import DenseScores, RankScores, RowScores, Scores, SparseScores
from learners.segment import Rows, Segment, Steps
from learners.specs import LaneSpec
from learners.svm_map.stacker import Stacker
from pipeline.curves.rank_curve import RankCurve
from pipeline.curves.topic_curve import Curve

TINY = 1e-100


@njit
def unit_length(starts: Longs, values: Floats) -> Floats:
    """The values of rows scaled to Euclidean length one; an empty or zero row stays as it is."""
    scaled = values.copy()
    for row in range(len(starts) - 1):
        mine = scaled[starts[row] : starts[row + 1]]
        largest = 0.0
        for value in mine:
            largest = max(largest, abs(value))
        if 0.0 < largest < TINY:
            mine /= largest  # squares would vanish
        square = 0.0
        for value in mine:
            square += value * value
        if square > 0.0:
            mine /= np.sqrt(square)
    return scaled


@dataclass(frozen=True, slots=True)
class SharedSegment:
    """A segment as all lanes see it: by its norm, each the same steps over other vectors."""

    by_norm: dict[str, Segment]

    def between(self, start: int, stop: int) -> SharedSegment:
        """Only some of the steps."""
        some = {norm: segment.between(start, stop) for norm, segment in self.by_norm.items()}
        return SharedSegment(some)

    def __len__(self) -> int:
        return len(self.by_norm["none"].steps)


def share(segment: Segment, norms: Collection[str]) -> SharedSegment:
    """A segment for lanes of these norms; what several of them need is made once."""
    by_norm = {"none": segment}
    if "l2" in norms:
        rows = segment.rows
        scaled = Rows(rows.starts, rows.terms, unit_length(rows.starts, rows.values))
        by_norm["l2"] = Segment(scaled, segment.steps, segment.terms, segment.topics)
    return SharedSegment(by_norm)


def as_table(scores: RowScores) -> Floats:
    """The scores of all topics, a row each."""
    if isinstance(scores, DenseScores):
        return scores.matrix
    if not isinstance(scores, SparseScores):
        raise TypeError(f"{type(scores).__name__} are not scores of topics")
    table = np.zeros((len(scores.starts), scores.topics))
    scores.spread(np.arange(len(table), dtype=np.int32), table)
    return table


class Lane:
    """A learner and its curve."""

    def __init__(self, spec: LaneSpec, learner: Learner) -> None:
        self.spec = spec
        self.name = spec.name
        self.learner = learner
        self.curve: Curve | RankCurve
        if isinstance(learner, OrdinalLearner):
            self.curve = RankCurve(learner.ranks)
        else:
            self.curve = Curve()
        self.seconds = 0.0

    @property
    def is_ordinal(self) -> bool:
        """Whether it learns ranks, not topics."""
        return isinstance(self.learner, OrdinalLearner)

    @property
    def combines(self) -> tuple[str, ...]:
        """The names of the lanes that it learns from, if it does."""
        return self.spec.combines

    @property
    def is_sparse(self) -> bool:
        """Whether its scores take memory for the topics alone that were retrieved."""
        return isinstance(self.learner, IndexLearner)

    def new_scores(self, rows: int, topics: int) -> RowScores:
        """Room for its scores of so many rows."""
        if self.is_ordinal:
            return RankScores(rows)
        if self.is_sparse:
            return SparseScores(rows, topics)
        return DenseScores(np.zeros((rows, topics)))

    def follow(
        self, shared: SharedSegment, scores: RowScores, said: Sequence[RowScores] = ()
    ) -> Floats:
        """Rank and learn a segment, and measure its rounds by the rankings made before.

        A lane that combines others is given what they said. Returns the measures of each round.
        """
        started = time.perf_counter()
        segment = shared.by_norm[self.spec.norm]
        if isinstance(scores, SparseScores) and isinstance(self.learner, IndexLearner):
            self.learner.retrieve(segment, scores)
        elif isinstance(scores, DenseScores) and isinstance(self.learner, Stacker):
            self.learner.combine(segment, [as_table(lane) for lane in said], scores.matrix)
        elif isinstance(scores, DenseScores | RankScores):
            self.learner.follow(segment, scores.matrix)
        measured = self._measured(segment.steps, scores)
        self.seconds += time.perf_counter() - started
        return measured

    def _measured(self, steps: Steps, scores: RowScores) -> Floats:
        """Add rounds to the curve, whatever kind it is of."""
        if isinstance(self.curve, RankCurve) and isinstance(scores, RankScores):
            return self.curve.follow(steps, scores)
        if isinstance(self.curve, Curve) and isinstance(scores, Scores):
            return self.curve.follow(steps, scores)
        raise TypeError(f"{type(scores).__name__} do not go with {type(self.curve).__name__}")
