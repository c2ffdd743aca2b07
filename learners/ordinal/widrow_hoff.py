"""Widrow-Hoff: online regression on the ranks as numbers, as an update rule.

The prediction is rounded to the nearest rank (a half goes up) and clipped to the ranks there are.
Every round moves the vector, also one whose rounded prediction was right.
"""

from __future__ import annotations

import math

from learners.jit import njit

# A rate that is too large for the length of the vectors makes predictions grow without end. They
# are useless then, but must stay numbers: an error counts as no larger than this.
LARGEST_ERROR = 1e100


@njit
def nearest_rank(score: float, ranks: int) -> int:
    """The rank nearest to a prediction."""
    return int(min(max(math.floor(score + 0.5), 1.0), float(ranks)))


@njit
def widrow_hoff_coefficient(score: float, true: int, rate: float) -> float:
    """How far the vector moves along the instance: against the error, by the rate."""
    return -rate * min(max(score - true, -LARGEST_ERROR), LARGEST_ERROR)
