"""A lane: one learner configuration that follows the stream, and its curve."""

from __future__ import annotations

import time
from functools import cached_property

import numpy as np

from learners.jit import njit
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


class SharedSegment:
    """A segment as all lanes see it; what only some of them need is made once, when asked for."""

    def __init__(self, segment: Segment) -> None:
        self.plain = segment

    @cached_property
    def l2(self) -> Segment:
        """The same segment with vectors of length one."""
        rows = self.plain.rows
        scaled = Rows(rows.starts, rows.terms, unit_length(rows.starts, rows.values))
        return Segment(scaled, self.plain.steps, self.plain.terms, self.plain.topics)


class Lane:
    """A learner and its curve."""

    def __init__(self, spec: LaneSpec) -> None:
        self.spec = spec
        self.name = spec.name
        self.learner = spec.build()
        self.curve = Curve()
        self.seconds = 0.0

    def follow(self, shared: SharedSegment, scores: Floats) -> Floats:
        """Rank and learn a segment, and measure its rounds by the rankings made before.

        Returns the measures of each round.
        """
        started = time.perf_counter()
        segment = shared.l2 if self.spec.norm == "l2" else shared.plain
        self.learner.follow(segment, scores)
        measured = self.curve.follow(segment.steps, scores)
        self.seconds += time.perf_counter() - started
        return measured
