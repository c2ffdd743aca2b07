"""Twin of `learners/prototypes/mmp.py`."""

from __future__ import annotations

from collections.abc import Sequence

from learners.slow.prototypes import SlowPrototypes


class SlowMMP(SlowPrototypes):
    """Topics of wrongly ordered pairs move by the number of such pairs, over a divisor."""

    def __init__(self, loss: int = 1, margin: float = 0.0, average: bool = False) -> None:
        super().__init__(margin, average)
        self.loss = loss

    def moves(self, scores: Sequence[float], relevant: set[int]) -> list[float]:
        """n_r / c for relevant topics, -n_s / c for the others."""
        others = [s for s in range(len(scores)) if s not in relevant]
        errors = [(r, s) for r in relevant for s in others if scores[r] - scores[s] <= self.margin]
        if not errors:
            return [0.0] * len(scores)
        divisor = {1: len(errors), 2: 1, 3: len(relevant) * len(others)}[self.loss]
        counts = [0] * len(scores)
        for r, s in errors:
            counts[r] += 1
            counts[s] -= 1
        return [count / divisor for count in counts]
