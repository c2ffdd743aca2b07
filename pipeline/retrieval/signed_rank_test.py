"""Whether one ranking is better than another over the same queries: Wilcoxon's signed-rank test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats

LEVEL = 0.05


class SignedRankTest(NamedTuple):
    """Wins, losses and ties, and the p value: the chance of so uneven a result by luck alone."""

    wins: int
    losses: int
    ties: int
    p: float

    @property
    def significant(self) -> bool:
        """Whether p is below 0.05, which the paper calls the 0.95 level."""
        return self.p < LEVEL


def signed_rank_test(
    ours: Sequence[float] | Floats, others: Sequence[float] | Floats
) -> SignedRankTest:
    """Compare query by query; higher is better. The test is two-tailed and leaves out ties.

    A query without a value (NaN) on either side is left out. For few queries p is exact.

    >>> signed_rank_test([0.3, 0.5, 0.6, 0.7, 0.9, 0.2], [0.2, 0.3, 0.3, 0.3, 0.4, 0.2])
    SignedRankTest(wins=5, losses=0, ties=1, p=0.0625)
    """
    from scipy.stats import wilcoxon  # noqa: PLC0415 - an extra, and slow to import

    differences = np.asarray(ours, np.float64) - np.asarray(others, np.float64)
    differences = differences[~np.isnan(differences)]
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    decided = differences[differences != 0]
    p = float(wilcoxon(decided).pvalue) if len(decided) else 1.0
    return SignedRankTest(wins, losses, len(differences) - len(decided), p)
