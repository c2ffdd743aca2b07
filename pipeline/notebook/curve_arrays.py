"""The learning curve of a lane as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from learners.arrays import Floats, Longs
from pipeline.curves.topic_curve import LearningCurve


@dataclass(frozen=True)
class CurveArrays(Mapping[str, Floats]):
    """A curve: `rounds`, and for each measure its average over rounds 1..t, as t grows.

    `curve["loss1"][i]` is the average of loss1 over the first `curve.rounds[i]` rounds. It is NaN
    where the measure does not exist yet.
    """

    rounds: Longs
    measures: dict[str, Floats]

    def __getitem__(self, measure: str) -> Floats:
        try:
            return self.measures[measure]
        except KeyError:
            raise KeyError(
                f"there is no measure {measure!r}; known: {', '.join(self.measures)}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    def __repr__(self) -> str:
        last = int(self.rounds[-1]) if len(self.rounds) else 0
        return f"<curve of {last} rounds: {', '.join(self.measures)}>"


def curve_arrays(curve: LearningCurve) -> CurveArrays:
    """All points of a curve as arrays."""
    points = list(curve.all_points())
    names = dict.fromkeys(name for point in points for name in point.values)
    return CurveArrays(
        np.array([point.round for point in points], np.int64),
        {
            name: np.array([number_of(point.values.get(name)) for point in points], np.float64)
            for name in names
        },
    )


def number_of(value: float | None) -> float:
    """A value, or NaN if there is none."""
    return np.nan if value is None else value
