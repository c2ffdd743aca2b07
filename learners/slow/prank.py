"""Twin of `learners/ordinal/prank.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from learners.slow.ordinal import SlowOrdinal


class SlowPRank(SlowOrdinal):
    """One direction; thresholds on the wrong side of the score move by one."""

    def __init__(
        self, ranks: int = 5, kernel: str = "linear", budget: int = 1000, average: bool = False
    ) -> None:
        super().__init__(ranks, kernel, budget, average)
        self.thresholds = [0.0] * (ranks - 1)

    def predict(self, scores: Sequence[float], thresholds: Sequence[float]) -> int:
        """The first rank whose threshold is above the score, the last one being infinite."""
        return min(r for r, b in enumerate([*thresholds, math.inf], start=1) if scores[0] - b < 0)

    def moves(self, scores: Sequence[float], true: int) -> list[float]:
        """The sum of the errors of the thresholds."""
        if self.predict(scores, self.thresholds) == true:
            return [0.0]
        sides = [1.0 if true > r else -1.0 for r in range(1, self.ranks)]
        errors = [
            side if (scores[0] - b) * side <= 0 else 0.0
            for b, side in zip(self.thresholds, sides, strict=True)
        ]
        self.thresholds = [b - e for b, e in zip(self.thresholds, errors, strict=True)]
        return [sum(errors)]
