"""PRank: the perceptron that ranks, of Crammer and Singer (2001), as an update rule.

Instances are projected on one direction, which thresholds `b_1 <= .. <= b_{k-1}` cut into k
intervals, one a rank; the last threshold, b_k, is infinite and is not kept. On a mistake the
thresholds on the wrong side of the projection move by one towards it, and the direction moves by
the sum of their errors.
"""

from __future__ import annotations

from learners.arrays import Floats
from learners.jit import njit


@njit
def rank_by_thresholds(score: float, thresholds: Floats) -> int:
    """The first rank, from 1, whose threshold is above the score; a score on it is not below."""
    for r in range(len(thresholds)):
        if score - thresholds[r] < 0.0:
            return r + 1
    return len(thresholds) + 1


@njit
def prank_coefficients(
    score: float, thresholds: Floats, true: int, tau: Floats, shift: Floats
) -> bool:
    """Write how far the direction moves to `tau[0]` and each threshold to `shift`, if they do.

    With y_r = +1 for thresholds below the true rank and -1 for those from it on, the error of a
    threshold is `tau_r = y_r` if `(w.x - b_r) y_r <= 0`, else 0: the direction moves by their sum,
    threshold r by -tau_r. Thresholds are whole numbers that only move by one, the lower of two
    equal ones never up alone, so they stay in order.
    """
    if rank_by_thresholds(score, thresholds) == true:
        return False
    total = 0.0
    for r in range(len(thresholds)):
        side = 1.0 if true > r + 1 else -1.0
        error = side if (score - thresholds[r]) * side <= 0.0 else 0.0
        shift[r] = -error
        total += error
    tau[0] = total
    return True
