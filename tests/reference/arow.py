"""AROW in plain Python, written from the paper alone; a part of `tests.reference.stream`."""

from __future__ import annotations

from collections.abc import Sequence

Vector = dict[str, float]
CONSTANT = ""  # the feature that every document has


class Arow:
    """A classifier a topic: mean += alpha V x, V -= beta V x x^T V with only the diagonal kept."""

    def __init__(self, options: dict[str, str]) -> None:
        self.rho = float(options.get("rho", 1))
        self.positive = float(options.get("positive", 10))
        self.bias = float(options.get("bias", 0.2))
        self.means: list[Vector] = []
        self.variances: list[Vector] = []

    def join(self, topics: int) -> None:
        """Let topics join until there are so many."""
        while len(self.means) < topics:
            self.means.append({})
            self.variances.append({})

    def scores(self, x: Vector) -> list[float]:
        """What the topics are ranked by."""
        x = {**x, CONSTANT: self.bias}
        return [sum(mean.get(name, 0.0) * x[name] for name in x) for mean in self.means]

    def learn(self, x: Vector, relevant: Sequence[int]) -> None:
        """One round."""
        scores = self.scores(x)
        x = {**x, CONSTANT: self.bias}
        for topic, score in enumerate(scores):
            mean, variance = self.means[topic], self.variances[topic]
            y = 1 if topic in relevant else -1
            rho = self.rho / self.positive if y > 0 else self.rho
            loss = max(0.0, 1 - y * score)
            if loss == 0:
                continue
            vx = {name: variance.get(name, 1.0) * value for name, value in x.items()}
            beta = 1 / (sum(vx[name] * x[name] for name in x) + rho)
            for name, value in vx.items():
                mean[name] = mean.get(name, 0.0) + loss * beta * y * value
                variance[name] = variance.get(name, 1.0) - beta * value * value
