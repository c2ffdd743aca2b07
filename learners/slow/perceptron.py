"""Twin of `learners/prototypes/perceptron.py`."""

from __future__ import annotations

from collections.abc import Sequence

from learners.slow.prototypes import SlowPrototypes


class SlowPerceptron(SlowPrototypes):
    """Every topic by itself moves if its score is wrong, or right by too little."""

    def moves(self, scores: Sequence[float], relevant: set[int]) -> list[float]:
        """The sign of the topic if sign times score is no more than the margin, else 0."""
        signs = [1.0 if r in relevant else -1.0 for r in range(len(scores))]
        return [t if t * s <= self.margin else 0.0 for t, s in zip(signs, scores, strict=True)]
