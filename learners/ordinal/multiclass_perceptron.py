"""The multiclass perceptron of Crammer and Singer: a prototype a rank, as an update rule.

The prediction is the rank of the best score, the lowest of equal ones. A rank that scores level
with or above the true one is an error, as in their ultraconservative algorithms: so a tie is
learned from even where its order was right, or prototypes that are all zero would stay so.
"""

from __future__ import annotations

from learners.arrays import Floats
from learners.jit import njit


@njit
def best_rank(scores: Floats) -> int:
    """The rank, from 1, of the largest score; of equal ones the lowest."""
    best = 0
    for r in range(1, len(scores)):
        if scores[r] > scores[best]:
            best = r
    return best + 1


@njit
def multiclass_coefficients(scores: Floats, true: int, tau: Floats) -> bool:
    """Write how far each rank moves to `tau`, if any does: +1 the true one, -1 all errors together.

    The errors share their -1 equally.
    """
    errors = 0
    for r in range(len(scores)):
        errors += r != true - 1 and scores[r] >= scores[true - 1]
    if errors == 0:
        return False
    for r in range(len(scores)):
        tau[r] = -1.0 / errors if scores[r] >= scores[true - 1] else 0.0
    tau[true - 1] = 1.0
    return True
