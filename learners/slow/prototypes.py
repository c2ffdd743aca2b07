"""Twin of `learners/prototypes/base.py`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from learners.slow.arithmetic import Document, inner, zeros


class SlowPrototypes(ABC):
    """What MMP and the perceptron share; subclasses have the update rule."""

    def __init__(self, margin: float = 0.0, average: bool = False) -> None:
        self.margin = margin
        self.average = average
        self.rounds = 0
        self.weights = zeros()
        self.lagging = zeros()

    @abstractmethod
    def moves(self, scores: Sequence[float], relevant: set[int]) -> list[float]:
        """How far each topic moves along the document."""

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """Score the known topics, by the mean prototypes if `average`."""
        scores = [inner(self.weights[topic], document) for topic in known]
        if self.average and self.rounds:
            lags = [inner(self.lagging[topic], document) for topic in known]
            return [
                (self.rounds * s - lag) / self.rounds for s, lag in zip(scores, lags, strict=True)
            ]
        return scores

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """One round: correct the prototypes as they stand."""
        scores = [inner(self.weights[topic], document) for topic in known]
        tau = self.moves(scores, {known.index(topic) for topic in topics})
        for topic, move in zip(known, tau, strict=True):
            if move:
                for feature, value in document.items():
                    self.weights[topic][feature] += value * move
                    self.lagging[topic][feature] += value * float(self.rounds) * move
        self.rounds += 1
