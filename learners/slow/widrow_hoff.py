"""Twin of `learners/ordinal/widrow_hoff.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from learners.slow.ordinal import SlowOrdinal


class SlowWidrowHoff(SlowOrdinal):
    """Regression: against the error, by the rate."""

    def __init__(
        self,
        ranks: int = 5,
        rate: float = 0.01,
        kernel: str = "linear",
        budget: int = 1000,
        average: bool = False,
    ) -> None:
        super().__init__(ranks, kernel, budget, average)
        self.rate = rate

    def predict(self, scores: Sequence[float], thresholds: Sequence[float]) -> int:
        """The score rounded, halves up, and clipped to the ranks."""
        return min(max(math.floor(scores[0] + 0.5), 1), self.ranks)

    def moves(self, scores: Sequence[float], true: int) -> list[float]:
        """The error, limited so that it stays finite, times the rate."""
        return [-self.rate * min(max(scores[0] - true, -1e100), 1e100)]
