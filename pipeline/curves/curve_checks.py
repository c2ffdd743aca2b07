"""Checks of the sums and points of a curve that comes from a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats
from learners.checks import (
    MAX_COUNT,
    InvalidArrayError,
    check_between,
    check_finite,
    check_order,
    floats,
)

ROUND = 0  # the first column of every point


def check_points(tally: Floats, points: Floats, finite: Sequence[int]) -> None:
    """Raise `InvalidArrayError` if these cannot be the sums and points of a curve.

    The rounds, and these other columns, are finite. A measure that does not exist is NaN.
    """
    for name, rows in (("tally", tally[None]), ("points", points)):
        rounds = rows[:, ROUND]
        check_between(f"{name}, rounds", rounds, 0.0, min(MAX_COUNT, tally[ROUND]))
        if (rounds % 1.0).any():
            raise InvalidArrayError(f"array {name} has a part of a round")
        for column in finite:
            check_finite(f"{name}, column {column}", rows[:, column])
        if np.isinf(rows).any():
            raise InvalidArrayError(f"array {name} has a number that is infinite")
    check_order("points, rounds", points[:, ROUND])


def sums_of(state: Mapping[str, npt.NDArray[np.generic]], name: str, length: int | None) -> Floats:
    """Return an array of sums, which are finite and not negative."""
    sums = floats(state, name, length)
    check_between(name, sums, 0.0)
    return sums
