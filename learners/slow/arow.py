"""Twin of `learners/prototypes/arow.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from learners.slow.arithmetic import Document, inner, zeros


class SlowArow:
    """Every topic by itself, each weight by its variance, which is 1 at first."""

    def __init__(self, rho: float = 1.0, positive: float = 10.0, bias: float = 0.2) -> None:
        self.rho = rho
        self.positive = positive
        self.bias = bias
        self.weights = zeros()
        self.variances: defaultdict[str, defaultdict[str, float]] = defaultdict(
            lambda: defaultdict(lambda: 1.0)
        )
        self.prior: defaultdict[str, float] = defaultdict(float)
        self.prior_variance: defaultdict[str, float] = defaultdict(lambda: 1.0)

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """The words of the document, then the prior."""
        return [
            inner(self.weights[topic], document) + self.bias * self.prior[topic] for topic in known
        ]

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """One round: a topic whose score is short of 1 (of -1 if irrelevant) moves towards it."""
        for topic, score in zip(known, self.score(document, known), strict=True):
            target = 1.0 if topic in topics else -1.0
            if target * score < 1.0:
                self.move(topic, document, score, target)

    def move(self, topic: str, document: Document, score: float, target: float) -> None:
        """Move one topic, and reduce the variances of its weights."""
        variances, bias = self.variances[topic], self.bias
        spread = 0.0
        for feature, value in document.items():
            spread += value * variances[feature] * value
        spread += bias * self.prior_variance[topic] * bias
        noise = self.rho / self.positive if target > 0 else self.rho
        step = (target - score) / (spread + noise)
        for feature, value in document.items():
            part = value * variances[feature]
            self.weights[topic][feature] += step * part
            variances[feature] *= (spread - part * value + noise) / (spread + noise)
        part = bias * self.prior_variance[topic]
        self.prior[topic] += step * part
        self.prior_variance[topic] *= (spread - part * bias + noise) / (spread + noise)
