"""Numbers that stay within limits, also if they count less with every round."""

from __future__ import annotations

import math

from learners.jit import njit_inline

MOST_LOGIT = 30.0
LEAST = 1e-200  # smaller numbers become 0: arithmetic with the smallest ones is slow


@njit_inline
def faded(value: float, keep: float) -> float:
    """A number times a factor below 1; 0 if nothing worth mentioning is left."""
    product = value * keep
    return product if abs(product) >= LEAST else 0.0


@njit_inline
def limited(value: float, most: float) -> float:
    """The number from -most to most that is next to a value."""
    return min(max(value, -most), most)


@njit_inline
def logistic(logit: float) -> float:
    """The probability of a logit; never 0 or 1."""
    return 1.0 / (1.0 + math.exp(-limited(logit, MOST_LOGIT)))
