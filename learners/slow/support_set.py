"""Twin of `learners/prototypes/support_set.py`, and of models that are kept as weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from learners.slow.arithmetic import Document, inner


class SlowModel(ABC):
    """Columns that documents are scored by, and the mean of those after each round so far."""

    @abstractmethod
    def scores(self, document: Document, columns: int) -> list[float]:
        """The scores by the first columns as they stand."""

    @abstractmethod
    def mean_scores(self, document: Document, columns: int, rounds: int) -> list[float]:
        """The scores by the means of the first columns over the rounds so far."""

    @abstractmethod
    def add(self, document: Document, tau: Sequence[float], rounds: int) -> None:
        """Add a multiple of the document to each column, after this many rounds."""

    @abstractmethod
    def forget(self, features: set[str]) -> None:
        """Drop some features."""

    def rounds_before_mean(self) -> int:
        """How many rounds, from the first on, are not in the mean."""
        return 0


class SlowVectors(SlowModel):
    """Weights, zero where nothing was learned, and the sums that their means are made from."""

    def __init__(self) -> None:
        self.columns: defaultdict[int, dict[str, float]] = defaultdict(dict)
        self.lagging: defaultdict[int, dict[str, float]] = defaultdict(dict)

    def scores(self, document: Document, columns: int) -> list[float]:
        """The inner products."""
        return [inner(self.columns[c], document) for c in range(columns)]

    def mean_scores(self, document: Document, columns: int, rounds: int) -> list[float]:
        """The inner products with the means, which follow from `lagging`."""
        scores = self.scores(document, columns)
        lags = [inner(self.lagging[c], document) for c in range(columns)]
        return [(rounds * s - lag) / rounds for s, lag in zip(scores, lags, strict=True)]

    def add(self, document: Document, tau: Sequence[float], rounds: int) -> None:
        """Add it to the weights, and to `lagging` once for every round before."""
        for c, move in enumerate(tau):
            for feature, value in document.items():
                weight, lag = self.columns[c].get(feature, 0.0), self.lagging[c].get(feature, 0.0)
                self.columns[c][feature] = weight + value * move
                self.lagging[c][feature] = lag + value * float(rounds) * move

    def forget(self, features: set[str]) -> None:
        """Drop the weights of these features."""
        for column in (*self.columns.values(), *self.lagging.values()):
            for feature in features & column.keys():
                del column[feature]


@dataclass
class SlowInstance:
    """An update: the instance, its coefficients, and the rounds in which it is in the model."""

    document: dict[str, float]
    tau: list[float]
    came: int
    left: int | None = None


class SlowSupports(SlowModel):
    """Updates in the order in which they came; those that have not left are the model."""

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
        """The mean scores: each update counts for the rounds in which it was in the model."""
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
        """The rounds before the last update left that is not among the last `budget` to leave."""
        left = sorted(update.left for update in self.updates if update.left is not None)
        return left[-self.budget - 1] if len(left) > self.budget else 0

    def add(self, document: Document, tau: Sequence[float], rounds: int) -> None:
        """Append an update; above the budget the smallest other one leaves (ties: the oldest)."""
        here = [i for i, update in enumerate(self.updates) if update.left is None]
        if len(here) == self.budget:
            sizes = {i: max(abs(move) for move in self.updates[i].tau) for i in here}
            self.updates[min(here, key=sizes.__getitem__)].left = rounds
        self.updates.append(SlowInstance(dict(document), list(tau), rounds))

    def forget(self, features: set[str]) -> None:
        """Drop these features from all instances."""
        for update in self.updates:
            for feature in features & update.document.keys():
                del update.document[feature]
