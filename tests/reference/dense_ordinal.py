"""The ordinal learners once more, as one would write them in an afternoon: dense, with all history.

Nothing here is taken from `learners`. A kernel is its map to features; the mean of models is the
mean of a list of models; the budget is a list.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def products_of_two(points: Floats) -> Floats:
    """The map whose inner product is (x.z + 1)^2, for points of a plane."""
    x, y = points.T
    root = np.sqrt(2.0)
    return np.stack([np.ones_like(x), root * x, root * y, x * x, y * y, root * x * y], axis=1)


@dataclass
class Dense:
    """One learner: `kind` is prank, widrow-hoff or multiclass-perceptron."""

    kind: str
    ranks: int
    features: int
    rate: float = 0.0
    budget: int | None = None
    average: bool = False
    b: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.b = np.zeros(self.ranks - 1)
        self.W = np.zeros((self.ranks if self.kind.startswith("multi") else 1, self.features))
        self.support: list[tuple[float, Floats]] = []  # size, and what was added to W
        self.models: list[tuple[Floats, Floats]] = []  # after each round
        self.removals: list[int] = []  # rounds that were over then

    def predict(self, x: Floats) -> tuple[int, float]:
        W, b = self.W, self.b
        if self.average and self.models:
            gone = 0
            if self.budget is not None and len(self.removals) > self.budget:
                gone = self.removals[-self.budget - 1]
            W = np.mean([model[0] for model in self.models[gone:]], axis=0)
            b = np.mean([model[1] for model in self.models[gone:]], axis=0)
        scores = (W * x).sum(axis=1)
        if self.kind == "prank":
            below = np.flatnonzero(scores[0] - b < 0)
            return (int(below[0]) + 1 if len(below) else self.ranks), scores[0]
        if self.kind == "widrow-hoff":
            return int(np.clip(np.floor(scores[0] + 0.5), 1, self.ranks)), scores[0]
        return int(np.argmax(scores)) + 1, scores.max()

    def learn(self, x: Floats, y: int) -> None:
        tau = self.taus((self.W * x).sum(axis=1), y)
        if tau.any():
            self.W = self.W + tau[:, None] * x
            if self.budget is not None:
                self.support.append((np.abs(tau).max(), tau[:, None] * x))
                if len(self.support) > self.budget:
                    sizes = [size for size, _ in self.support[:-1]] or [0.0]
                    self.support.pop(int(np.argmin(sizes)))
                    self.W = np.sum([added for _, added in self.support], axis=0)
                    self.removals.append(len(self.models))
        self.models.append((self.W, self.b))

    def taus(self, scores: Floats, y: int) -> Floats:
        if self.kind == "prank":
            below = np.flatnonzero(scores[0] - self.b < 0)
            if (below[0] + 1 if len(below) else self.ranks) == y:
                return np.zeros(1)
            signs = np.where(y <= np.arange(1, self.ranks), -1.0, 1.0)
            errors = np.where((scores[0] - self.b) * signs <= 0, signs, 0.0)
            self.b = self.b - errors
            return np.array([errors.sum()])
        if self.kind == "widrow-hoff":
            return self.rate * (y - scores)
        wrong = scores >= scores[y - 1]
        wrong[y - 1] = False
        if not wrong.any():
            return np.zeros(self.ranks)
        tau = np.where(wrong, -1.0 / wrong.sum(), 0.0)
        tau[y - 1] = 1.0
        return tau
