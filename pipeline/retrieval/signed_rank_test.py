"""Whether one ranking is better than another over the same queries: Wilcoxon's signed ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats

LEVEL = 0.05


class SignedRankTest(NamedTuple):
    """Queries won and lost, those level, and how likely so uneven a result is by chance."""

    wins: int
    losses: int
    ties: int
    p: float

    @property
    def significant(self) -> bool:
        """At the level of 0.95, as the paper puts it."""
        return self.p < LEVEL


def signed_rank_test(
    ours: Sequence[float] | Floats, others: Sequence[float] | Floats
) -> SignedRankTest:
    """Compare query by query, higher being better; two-tailed, without those that are level.

    A query that either does not have (NaN) is left out. Few queries are computed exactly.

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
