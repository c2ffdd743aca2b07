"""Whether one method is better than another over the same splits: the binomial sign test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class SignTest(NamedTuple):
    """Wins, losses and ties, and the p value: the chance of so uneven a result by luck alone."""

    wins: int
    losses: int
    ties: int
    p: float


def sign_test(ours: Sequence[float], others: Sequence[float]) -> SignTest:
    """Compare pair by pair; higher is better. The test is two-sided and leaves out ties.

    >>> sign_test([0.9] * 9 + [0.1], [0.5] * 10)
    SignTest(wins=9, losses=1, ties=0, p=0.021484375)
    """
    from scipy.stats import binomtest  # noqa: PLC0415 - an extra, and slow to import

    wins = sum(a > b for a, b in zip(ours, others, strict=True))
    losses = sum(a < b for a, b in zip(ours, others, strict=True))
    decided = wins + losses
    p = float(binomtest(wins, decided, 0.5).pvalue) if decided else 1.0
    return SignTest(wins, losses, len(ours) - decided, p)
