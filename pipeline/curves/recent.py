"""Averages over the last rounds, beside the averages over all rounds.

A round-averaged loss moves slowly after many rounds. The average over the last eighth of the rounds
shows what a lane does now. It is the difference of two points of the curve, so nothing more is
kept. The earlier point is the last one that is kept at or before 7/8 of the rounds. Beyond 128
rounds the average therefore covers 1/8 to 1/7 of the rounds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pipeline.curves.curve_checks import ROUND
from pipeline.curves.topic_curve import LearningCurve, Point

PART = 8  # the last eighth of the rounds


def recent_points(curve: LearningCurve, start: int = 0) -> Iterator[Point]:
    """Yield a point per point of `curve.all_points`, averaged over the last eighth of its rounds.

    It begins with point number `start`. Tau-b, which has a window of its own, stays as it is.
    """
    rows = curve.rows()
    rounds = rows[:, ROUND]
    for row in rows[start:]:
        earlier = int(np.searchsorted(rounds, row[ROUND] * (PART - 1) / PART, side="right"))
        recent = row.copy()
        if earlier:
            recent[curve.sum_columns] -= rows[earlier - 1, curve.sum_columns]
        yield curve.as_point(recent)._replace(round=int(row[ROUND]))


def recent_values(curve: LearningCurve) -> dict[str, float | None]:
    """Return the averages over the last eighth of the rounds so far."""
    points = recent_points(curve, max(0, len(curve.rows()) - 1))
    return next(points, curve.last()).values
