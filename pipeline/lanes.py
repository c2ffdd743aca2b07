"""A lane: one learner configuration that follows the stream, and its curve."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from learners.index import IndexLearner
from learners.jit import njit
from learners.learner import Learner
from learners.scores import DenseScores, Scores, SparseScores
from learners.segment import Floats, Longs, Rows, Segment
from learners.specs import LaneSpec
from pipeline.curves import Curve

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


class Lane:
    """A learner and its curve."""

    def __init__(self, spec: LaneSpec, learner: Learner) -> None:
        self.spec = spec
        self.name = spec.name
        self.learner = learner
        self.curve = Curve()
        self.seconds = 0.0

    @property
    def is_sparse(self) -> bool:
        """Whether its scores take memory for the topics alone that were retrieved."""
        return isinstance(self.learner, IndexLearner)

    def new_scores(self, rows: int, topics: int) -> Scores:
        """Room for its scores of so many rows."""
        if self.is_sparse:
            return SparseScores(rows, topics)
        return DenseScores(np.zeros((rows, topics)))

    def follow(self, shared: SharedSegment, scores: Scores) -> Floats:
        """Rank and learn a segment, and measure its rounds by the rankings made before.

        Returns the measures of each round.
        """
        started = time.perf_counter()
        segment = shared.by_norm[self.spec.norm]
        if isinstance(scores, SparseScores) and isinstance(self.learner, IndexLearner):
            self.learner.retrieve(segment, scores)
        elif isinstance(scores, DenseScores):
            self.learner.follow(segment, scores.matrix)
        measured = self.curve.follow(segment.steps, scores)
        self.seconds += time.perf_counter() - started
        return measured
