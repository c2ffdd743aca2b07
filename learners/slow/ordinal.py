"""Twin of `learners/ordinal/base.py`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from learners.slow.arithmetic import Document
from learners.slow.support_set import SlowModel, SlowSupports, SlowVectors


class SlowOrdinal(ABC):
    """What the ordinal learners share; subclasses have the prediction and the update rule."""

    def __init__(
        self, ranks: int = 5, kernel: str = "linear", budget: int = 1000, average: bool = False
    ) -> None:
        self.ranks = ranks
        self.average = average
        self.rounds = 0
        self.columns = 1
        self.model: SlowModel = SlowVectors() if kernel == "linear" else SlowSupports(budget)
        self.thresholds: list[float] = []
        self.passed: list[list[float]] = []  # the thresholds after each round

    @abstractmethod
    def predict(self, scores: Sequence[float], thresholds: Sequence[float]) -> int:
        """The rank for these scores and thresholds."""

    @abstractmethod
    def moves(self, scores: Sequence[float], true: int) -> list[float]:
        """How far each column moves; thresholds are moved right away."""

    def rank(self, document: Document) -> tuple[int, float]:
        """The predicted rank, and the score that it is derived from."""
        if not self.average or not self.rounds:
            scores = self.model.scores(document, self.columns)
            return self.predict(scores, self.thresholds), max(scores)
        scores = self.model.mean_scores(document, self.columns, self.rounds)
        passed = self.passed[self.model.rounds_before_mean() :]
        thresholds = [sum(of_rank) / len(passed) for of_rank in zip(*passed, strict=True)]
        return self.predict(scores, thresholds), max(scores)

    def learn(self, document: Document, true: int) -> None:
        """One round, unless there is no such rank."""
        if true > self.ranks:
            return
        scores = self.model.scores(document, self.columns)
        tau = self.moves(scores, true)
        if any(tau):
            self.model.add(document, tau, self.rounds)
        self.passed.append(self.thresholds)
        self.rounds += 1

    def forget(self, features: set[str]) -> None:
        """Drop some features."""
        self.model.forget(features)
