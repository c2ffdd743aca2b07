"""Twin of `learners/ordinal/multiclass_perceptron.py`."""

from __future__ import annotations

from collections.abc import Sequence

from learners.slow.ordinal import SlowOrdinal


class SlowMulticlassPerceptron(SlowOrdinal):
    """One prototype per rank; the true one gains what those that score as high or higher lose."""

    def __init__(
        self, ranks: int = 5, kernel: str = "linear", budget: int = 1000, average: bool = False
    ) -> None:
        super().__init__(ranks, kernel, budget, average)
        self.columns = ranks

    def predict(self, scores: Sequence[float], thresholds: Sequence[float]) -> int:
        """The rank of the best score, the lowest of equal ones."""
        return scores.index(max(scores)) + 1

    def moves(self, scores: Sequence[float], true: int) -> list[float]:
        """+1 for the true rank, -1 shared by the errors."""
        errors = [r for r, s in enumerate(scores) if r != true - 1 and s >= scores[true - 1]]
        tau = [0.0] * self.ranks
        for r in errors:
            tau[r] = -1.0 / len(errors)
            tau[true - 1] = 1.0
        return tau
