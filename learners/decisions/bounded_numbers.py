"""Numbers that stay within limits, also if they count less with every round."""

from __future__ import annotations

from learners.jit import njit_formula, njit_inline

MOST_LOGIT = 30.0
LEAST = 1e-200  # smaller numbers become 0: arithmetic with the smallest ones is slow
# A power of e is that of a 1024th of the exponent, squared ten times. This exponent is so small
# that eight terms of the series are exact to the last bit.
HALVINGS = 10
HALVED = 2.0**HALVINGS
C2, C3, C4, C5, C6, C7 = 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040


@njit_inline
def faded(value: float, keep: float) -> float:
    """A number times a factor below 1; 0 if nothing worth mentioning is left."""
    product = value * keep
    return product if abs(product) >= LEAST else 0.0


@njit_formula
def limited(value: float, most: float) -> float:
    """The number from -most to most that is next to a value."""
    above = value if value > -most else -most
    return above if above < most else most


@njit_formula
def exponential(power: float) -> float:
    """The number e to a power between -30 and 30.

    There is no branch and no call, so the processor computes several at once. Nor does the last bit
    depend on a library.
    """
    x = limited(power, MOST_LOGIT) / HALVED
    square = x * x
    first, next_ = (1.0 + x) + (C2 + C3 * x) * square, (C4 + C5 * x) + (C6 + C7 * x) * square
    value = first + next_ * (square * square)
    for _ in range(HALVINGS):
        value *= value
    return value


@njit_formula
def logistic(logit: float) -> float:
    """The probability of a logit; never 0 or 1."""
    return 1.0 / (1.0 + exponential(-logit))
