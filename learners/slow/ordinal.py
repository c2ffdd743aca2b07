"""Plain-Python twins of the ordinal learners and of kernel models; see `slow.py`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from learners.slow.prototypes import Document, SlowMMP, inner


class SlowModel(ABC):
    """Columns that documents are scored by, and the mean of those after each round so far."""

    @abstractmethod
    def scores(self, document: Document, columns: int) -> list[float]:
        """By the first columns as they stand."""

    @abstractmethod
    def mean_scores(self, document: Document, columns: int, rounds: int) -> list[float]:
        """By the means of the first columns, over rounds that there are."""

    @abstractmethod
    def add(self, document: Document, tau: Sequence[float], rounds: int) -> None:
        """Add a multiple of the document to each column, so many rounds being over."""

    @abstractmethod
    def forget(self, features: set[str]) -> None:
        """Drop some features."""

    def rounds_before_mean(self) -> int:
        """How many rounds, from the first on, are not in the mean."""
        return 0


class SlowVectors(SlowModel):
    """Weights, zero where nothing was learned, with the sum that means need."""

    def __init__(self) -> None:
        self.columns: defaultdict[int, dict[str, float]] = defaultdict(dict)
        self.lagging: defaultdict[int, dict[str, float]] = defaultdict(dict)

    def scores(self, document: Document, columns: int) -> list[float]:
        """The inner products."""
        return [inner(self.columns[c], document) for c in range(columns)]

    def mean_scores(self, document: Document, columns: int, rounds: int) -> list[float]:
        """The same with the means, which follow from what lags."""
        scores = self.scores(document, columns)
        lags = [inner(self.lagging[c], document) for c in range(columns)]
        return [(rounds * s - lag) / rounds for s, lag in zip(scores, lags, strict=True)]

    def add(self, document: Document, tau: Sequence[float], rounds: int) -> None:
        """Add it to the weights, and what the update missed to what lags."""
        for c, move in enumerate(tau):
            for feature, value in document.items():
                weight, lag = self.columns[c].get(feature, 0.0), self.lagging[c].get(feature, 0.0)
                self.columns[c][feature] = weight + value * move
                self.lagging[c][feature] = lag + value * float(rounds) * move

    def forget(self, features: set[str]) -> None:
        """Drop their weights."""
        for column in (*self.columns.values(), *self.lagging.values()):
            for feature in features & column.keys():
                del column[feature]


@dataclass
class SlowInstance:
    """An update: the instance, its coefficients, and in which rounds it was part of the model."""

    document: dict[str, float]
    tau: list[float]
    came: int
    left: int | None = None


class SlowSupports(SlowModel):
    """Updates in the order that they came; those that have not left are the model."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.updates: list[SlowInstance] = []

    def similarity(self, document: Document, update: SlowInstance) -> float:
        """(x.z + 1)^2."""
        product = inner(document, update.document) + 1.0
        return min(product * product, 1e150)

    def scores(self, document: Document, columns: int) -> list[float]:
        """Sums of the coefficients times the similarities."""
        scores = [0.0] * columns
        for update in self.updates:
            if update.left is None:
                similarity = self.similarity(document, update)
                for c, move in enumerate(update.tau[:columns]):
                    scores[c] += similarity * move
        return scores

    def mean_scores(self, document: Document, columns: int, rounds: int) -> list[float]:
        """The same, each update times the rounds of the mean that it was there."""
        means = [0.0] * columns
        before = self.rounds_before_mean()
        for update in self.updates:
            left = rounds if update.left is None else update.left
            there = left - max(before, update.came)
            if left > before:
                similarity = self.similarity(document, update)
                for c, move in enumerate(update.tau[:columns]):
                    means[c] += there * (similarity * move)
        return [total / (rounds - before) for total in means]

    def rounds_before_mean(self) -> int:
        """Until the last one left that is not among the last so many to leave."""
        left = sorted(update.left for update in self.updates if update.left is not None)
        return left[-self.budget - 1] if len(left) > self.budget else 0

    def add(self, document: Document, tau: Sequence[float], rounds: int) -> None:
        """Note an update; of too many the smallest of the others leaves, of equals the oldest."""
        here = [i for i, update in enumerate(self.updates) if update.left is None]
        if len(here) == self.budget:
            sizes = {i: max(abs(move) for move in self.updates[i].tau) for i in here}
            self.updates[min(here, key=sizes.__getitem__)].left = rounds
        self.updates.append(SlowInstance(dict(document), list(tau), rounds))

    def forget(self, features: set[str]) -> None:
        """Drop them from all instances."""
        for update in self.updates:
            for feature in features & update.document.keys():
                del update.document[feature]


class SlowOrdinal:
    """What the ordinal learners share; subclasses say what a rank is and how far columns move."""

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

    def read_off(self, scores: Sequence[float], thresholds: Sequence[float]) -> int:
        """The rank that scores and thresholds say."""
        raise AssertionError("a subclass has the rule")

    def moves(self, scores: Sequence[float], true: int) -> list[float]:
        """How far each column moves; thresholds are moved right away."""
        raise AssertionError("a subclass has the rule")

    def rank(self, document: Document) -> tuple[int, float]:
        """The predicted rank, and the score that it was read off."""
        if not self.average or not self.rounds:
            scores = self.model.scores(document, self.columns)
            return self.read_off(scores, self.thresholds), max(scores)
        scores = self.model.mean_scores(document, self.columns, self.rounds)
        passed = self.passed[self.model.rounds_before_mean() :]
        thresholds = [sum(of_rank) / len(passed) for of_rank in zip(*passed, strict=True)]
        return self.read_off(scores, thresholds), max(scores)

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


class SlowPRank(SlowOrdinal):
    """One direction; thresholds on the wrong side of the score move by one."""

    def __init__(
        self, ranks: int = 5, kernel: str = "linear", budget: int = 1000, average: bool = False
    ) -> None:
        super().__init__(ranks, kernel, budget, average)
        self.thresholds = [0.0] * (ranks - 1)

    def read_off(self, scores: Sequence[float], thresholds: Sequence[float]) -> int:
        """The first rank whose threshold is above the score, the last one being infinite."""
        return min(r for r, b in enumerate([*thresholds, math.inf], start=1) if scores[0] - b < 0)

    def moves(self, scores: Sequence[float], true: int) -> list[float]:
        """The sum of the errors of the thresholds."""
        if self.read_off(scores, self.thresholds) == true:
            return [0.0]
        sides = [1.0 if true > r else -1.0 for r in range(1, self.ranks)]
        errors = [
            side if (scores[0] - b) * side <= 0 else 0.0
            for b, side in zip(self.thresholds, sides, strict=True)
        ]
        self.thresholds = [b - e for b, e in zip(self.thresholds, errors, strict=True)]
        return [sum(errors)]


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

    def read_off(self, scores: Sequence[float], thresholds: Sequence[float]) -> int:
        """Rounded, halves up, and clipped."""
        return min(max(math.floor(scores[0] + 0.5), 1), self.ranks)

    def moves(self, scores: Sequence[float], true: int) -> list[float]:
        """The error, within what stays a number, times the rate."""
        return [-self.rate * min(max(scores[0] - true, -1e100), 1e100)]


class SlowMulticlassPerceptron(SlowOrdinal):
    """A prototype a rank; the true one gains what those level with or above it lose."""

    def __init__(
        self, ranks: int = 5, kernel: str = "linear", budget: int = 1000, average: bool = False
    ) -> None:
        super().__init__(ranks, kernel, budget, average)
        self.columns = ranks

    def read_off(self, scores: Sequence[float], thresholds: Sequence[float]) -> int:
        """The best, the lowest of equal ones."""
        return scores.index(max(scores)) + 1

    def moves(self, scores: Sequence[float], true: int) -> list[float]:
        """+1 for the true rank, -1 shared by the errors."""
        errors = [r for r, s in enumerate(scores) if r != true - 1 and s >= scores[true - 1]]
        tau = [0.0] * self.ranks
        for r in errors:
            tau[r] = -1.0 / len(errors)
            tau[true - 1] = 1.0
        return tau


class SlowKernelMMP(SlowMMP):
    """MMP whose prototypes are its updates."""

    def __init__(
        self,
        loss: int = 1,
        margin: float = 0.0,
        average: bool = False,
        budget: int = 1000,
    ) -> None:
        super().__init__(loss, margin, average)
        self.model = SlowSupports(budget)

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """Score the known topics, by the mean of the models if asked for."""
        if self.average and self.rounds:
            return self.model.mean_scores(document, len(known), self.rounds)
        return self.model.scores(document, len(known))

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """One round: the model as it stands is corrected."""
        scores = self.model.scores(document, len(known))
        tau = self.moves(scores, {known.index(topic) for topic in topics})
        if any(tau):
            self.model.add(document, tau, self.rounds)
        self.rounds += 1
