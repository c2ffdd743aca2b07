"""What is known of the items of queries: their features, as far as a linear ranker needs them.

A ranker scores all items and, to learn, adds up multiples of them; nothing else is asked of the
features. So a table of numbers and the binned scores of retrieval functions look the same to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Longs
from learners.jit import njit

Bins = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]


class Items(ABC):
    """The items of all queries, one after another."""

    width: int  # how many features an item has

    @abstractmethod
    def __len__(self) -> int:
        """How many items there are."""

    @abstractmethod
    def scores(self, weights: Floats) -> Floats:
        """The inner product of every item with the weights."""

    @abstractmethod
    def gathered(self, shares: Floats, start: int = 0, stop: int | None = None) -> Floats:
        """The sum of the items from `start` to `stop`, each times its share (one for each item)."""

    @abstractmethod
    def some(self, chosen: Longs) -> Items:
        """These items alone, in this order."""


@njit
def score_dense(matrix: Floats, weights: Floats, scores: Floats) -> None:
    """Inner products, added up from the first feature to the last."""
    for item in range(len(matrix)):
        score = 0.0
        for feature in range(len(weights)):
            score += matrix[item, feature] * weights[feature]
        scores[item] = score


@njit
def gather_dense(matrix: Floats, shares: Floats, start: int, stop: int, total: Floats) -> None:
    """Add the items up; one without a share costs nothing."""
    for item in range(start, stop):
        share = shares[item]
        if share != 0.0:
            for feature in range(len(total)):
                total[feature] += share * matrix[item, feature]


class DenseItems(Items):
    """A table of items x features."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix: Floats = np.ascontiguousarray(matrix, np.float64)
        if not np.isfinite(self.matrix).all():
            raise ValueError("expected features that are finite numbers")
        self.width = self.matrix.shape[1]

    def __len__(self) -> int:
        return len(self.matrix)

    def scores(self, weights: Floats) -> Floats:
        """The inner products."""
        scores = np.empty(len(self))
        score_dense(self.matrix, weights, scores)
        return scores

    def gathered(self, shares: Floats, start: int = 0, stop: int | None = None) -> Floats:
        """The sum of rows of the table."""
        total = np.zeros(self.width)
        gather_dense(self.matrix, shares, start, len(self) if stop is None else stop, total)
        return total

    def some(self, chosen: Longs) -> DenseItems:
        """Rows of the table."""
        return DenseItems(self.matrix[chosen])


@njit
def score_binned(bins: Bins, levels: Floats, scores: Floats) -> None:
    """Add up what the bin of each function is worth."""
    for item in range(len(bins)):
        score = 0.0
        for function in range(bins.shape[1]):
            score += levels[function, bins[item, function]]
        scores[item] = score


@njit
def gather_binned(bins: Bins, shares: Floats, start: int, stop: int, by_bin: Floats) -> None:
    """Add the shares up by function and bin."""
    for item in range(start, stop):
        share = shares[item]
        if share != 0.0:
            for function in range(bins.shape[1]):
                by_bin[function, bins[item, function]] += share


class BinnedItems(Items):
    """The bins that retrieval functions put items in, as the features of Yue et al. (2007).

    Each function has `cuts` features, and the k-th of them (from 0) is 1 for an item above its
    k-th cut, that is in a bin greater than k, else 0. What an item costs depends on the number of
    functions alone: a bin is worth the sum of the weights of the cuts below it.
    """

    def __init__(self, bins: Bins, cuts: int) -> None:
        if bins.size and int(bins.max()) > cuts:
            raise ValueError(f"expected bins from 0 to {cuts}, found {int(bins.max())}")
        self.bins: Bins = np.ascontiguousarray(bins)  # type: ignore[assignment]
        self.cuts = cuts
        self.width = bins.shape[1] * cuts

    def __len__(self) -> int:
        return len(self.bins)

    def scores(self, weights: Floats) -> Floats:
        """The inner products, by function."""
        levels = np.zeros((self.bins.shape[1], self.cuts + 1))
        np.cumsum(weights.reshape(-1, self.cuts), axis=1, out=levels[:, 1:])
        scores = np.empty(len(self))
        score_binned(self.bins, levels, scores)
        return scores

    def gathered(self, shares: Floats, start: int = 0, stop: int | None = None) -> Floats:
        """What lies above each cut."""
        by_bin = np.zeros((self.bins.shape[1], self.cuts + 1))
        gather_binned(self.bins, shares, start, len(self) if stop is None else stop, by_bin)
        above: Floats = np.cumsum(by_bin[:, :0:-1], axis=1)[:, ::-1]
        return above.ravel()

    def some(self, chosen: Longs) -> BinnedItems:
        """These items alone."""
        return BinnedItems(self.bins[chosen], self.cuts)
