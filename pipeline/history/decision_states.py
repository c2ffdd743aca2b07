"""What the decision curves of a run's lanes show between any two steps, not only at their points.

Macro F1 and calibration error are not sums over rounds. They depend on all topics and on all
probabilities so far, and the lane's own curve has only their latest state. Therefore a second curve
follows the decisions of each lane that assigns topics, and stops where its state is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Longs
from learners.segment import Steps
from learners.specs import LaneSpec
from pipeline.curves.decision_curve import DecisionCurve, totals_of, values_of
from pipeline.engine.ranked_segment import RankedSegment


class DecisionState(NamedTuple):
    """The decision curve of a lane after a step."""

    row: Floats
    has_marks: bool

    def totals(self) -> Mapping[str, float]:
        """What counters show: see `totals_of`."""
        return totals_of(self.row, self.has_marks)

    def averages(self) -> Mapping[str, float | None]:
        """The measures of all rounds so far; None if one does not exist yet."""
        return values_of(self.row, self.has_marks)


# Per lane; None if it assigns no topics.
LaneStates = tuple[DecisionState | None, ...]


class DecisionFollower:
    """Follows the decisions of a run, and says what the decision curves show after certain steps.

    Results are equal to those of the lanes' own curves to the last bit, because the same kernel
    adds the same rounds in the same order.
    """

    def __init__(self, lanes: Sequence[LaneSpec]) -> None:
        self._curves = [DecisionCurve(lane.risk > 0.0) if lane.assign else None for lane in lanes]

    def follow(self, ranked: Sequence[RankedSegment], stops: Longs) -> list[LaneStates]:
        """Follow segments to their end; return the states at stops on the way, in their order.

        A stop is a number of steps, counted from the beginning of the first segment.
        """
        states = [self._states()] * int(np.count_nonzero(stops == 0))
        begin = 0
        for piece in ranked:
            if piece.steps is None:
                continue
            end, done = begin + len(piece.steps), 0
            for stop in stops[(begin < stops) & (stops <= end)].tolist():
                self._advance(piece, piece.steps, done, stop - begin)
                done = stop - begin
                states.append(self._states())
            self._advance(piece, piece.steps, done, end - begin)
            begin = end
        return states

    def _advance(self, piece: RankedSegment, steps: Steps, start: int, stop: int) -> None:
        """Follow the steps of a segment from `start` up to `stop`."""
        some, topics = steps.between(start, stop), int(steps.known.max(initial=0))
        for lane, curve in enumerate(self._curves):
            made = piece.decisions_of(lane)
            if curve is not None and made is not None:
                curve.follow(some, made, topics)

    def _states(self) -> LaneStates:
        return tuple(
            None if curve is None else DecisionState(curve.last_row(), curve.has_marks)
            for curve in self._curves
        )
