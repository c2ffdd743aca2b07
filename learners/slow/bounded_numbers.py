"""Twin of `learners/decisions/bounded_numbers.py`, and sums of what candidates have."""

from __future__ import annotations

from collections.abc import Sequence

from learners.decisions.bounded_numbers import (
    C2,
    C3,
    C4,
    C5,
    C6,
    C7,
    HALVED,
    HALVINGS,
    LEAST,
    MOST_LOGIT,
)
from learners.decisions.candidates import AT_ONCE


def faded(value: float, keep: float) -> float:
    """A number times a factor below 1; 0 if nothing worth mentioning is left."""
    return value * keep if abs(value * keep) >= LEAST else 0.0


def limited(value: float, most: float) -> float:
    """The number from -most to most that is next to a value."""
    return min(max(value, -most), most)


def exponential(power: float) -> float:
    """The number e to a power between -30 and 30."""
    x = limited(power, MOST_LOGIT) / HALVED
    square = x * x
    first, next_ = (1.0 + x) + (C2 + C3 * x) * square, (C4 + C5 * x) + (C6 + C7 * x) * square
    value = first + next_ * (square * square)
    for _ in range(HALVINGS):
        value *= value
    return value


def logistic(logit: float) -> float:
    """The probability of a logit; never 0 or 1."""
    return 1.0 / (1.0 + exponential(-logit))


def total(numbers: Sequence[float]) -> float:
    """The sum of what candidates have: as partial sums of every fourth one."""
    parts = [0.0] * AT_ONCE
    for place, number in enumerate(numbers):
        parts[place % AT_ONCE] += number
    return (parts[0] + parts[1]) + (parts[2] + parts[3])
