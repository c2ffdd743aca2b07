"""The features of the items that a linear ranker is trained on.

Training needs two operations: the scores of all items, and weighted sums of items. So a table of
numbers and the binned scores of retrieval functions have the same interface.
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

    width: int  # features per item

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of items."""

    @abstractmethod
    def scores(self, weights: Floats) -> Floats:
        """Return the inner product of every item with the weights."""

    @abstractmethod
    def weighted_sum(self, shares: Floats, start: int = 0, stop: int | None = None) -> Floats:
        """Return the sum of the items from `start` up to `stop`, each times its share.

        `shares` has one number per item, over all items.
        """

    @abstractmethod
    def subset(self, chosen: Longs) -> Items:
        """Return the chosen items only, in the order of `chosen`."""


@njit
def score_dense(matrix: Floats, weights: Floats, scores: Floats) -> None:
    """Write the inner products to `scores`, summed from the first feature to the last."""
    for item in range(len(matrix)):
        score = 0.0
        for feature in range(len(weights)):
            score += matrix[item, feature] * weights[feature]
        scores[item] = score


@njit
def sum_dense(matrix: Floats, shares: Floats, start: int, stop: int, total: Floats) -> None:
    """Add the items, each times its share, to `total`. An item with the share 0 costs nothing."""
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
            raise ValueError("Features must be finite numbers. Got NaN or infinity.")
        self.width = self.matrix.shape[1]

    def __len__(self) -> int:
        return len(self.matrix)

    def scores(self, weights: Floats) -> Floats:
        """Return the inner products."""
        scores = np.empty(len(self))
        score_dense(self.matrix, weights, scores)
        return scores

    def weighted_sum(self, shares: Floats, start: int = 0, stop: int | None = None) -> Floats:
        """Return a weighted sum of rows of the table."""
        total = np.zeros(self.width)
        sum_dense(self.matrix, shares, start, len(self) if stop is None else stop, total)
        return total

    def subset(self, chosen: Longs) -> DenseItems:
        """Return some rows of the table."""
        return DenseItems(self.matrix[chosen])


@njit
def score_binned(bins: Bins, levels: Floats, scores: Floats) -> None:
    """Write to `scores` the sum of the levels of each item's bins."""
    for item in range(len(bins)):
        score = 0.0
        for function in range(bins.shape[1]):
            score += levels[function, bins[item, function]]
        scores[item] = score


@njit
def sum_binned(bins: Bins, shares: Floats, start: int, stop: int, by_bin: Floats) -> None:
    """Add the shares of the items to `by_bin`, by function and bin."""
    for item in range(start, stop):
        share = shares[item]
        if share != 0.0:
            for function in range(bins.shape[1]):
                by_bin[function, bins[item, function]] += share


class BinnedItems(Items):
    """Items described by the bins of their retrieval scores: the features of Yue et al. (2007).

    Each retrieval function has `cuts` features. Feature k (from 0) is 1 if the score of the item is
    above cut k, that is if its bin is greater than k, and else 0. The time per item depends only on
    the number of functions: the level of a bin is the sum of the weights of the cuts below it.
    """

    def __init__(self, bins: Bins, cuts: int) -> None:
        if bins.size and int(bins.max()) > cuts:
            raise ValueError(f"Bins must be from 0 to {cuts}. Got {int(bins.max())}.")
        self.bins: Bins = np.ascontiguousarray(bins)  # type: ignore[assignment]
        self.cuts = cuts
        self.width = bins.shape[1] * cuts

    def __len__(self) -> int:
        return len(self.bins)

    def scores(self, weights: Floats) -> Floats:
        """Return the inner products, summed function by function."""
        levels = np.zeros((self.bins.shape[1], self.cuts + 1))
        np.cumsum(weights.reshape(-1, self.cuts), axis=1, out=levels[:, 1:])
        scores = np.empty(len(self))
        score_binned(self.bins, levels, scores)
        return scores

    def weighted_sum(self, shares: Floats, start: int = 0, stop: int | None = None) -> Floats:
        """Return, for each cut, the sum of the shares of the items above it."""
        by_bin = np.zeros((self.bins.shape[1], self.cuts + 1))
        sum_binned(self.bins, shares, start, len(self) if stop is None else stop, by_bin)
        above: Floats = np.cumsum(by_bin[:, :0:-1], axis=1)[:, ::-1]
        return above.ravel()

    def subset(self, chosen: Longs) -> BinnedItems:
        """Return some of the items."""
        return BinnedItems(self.bins[chosen], self.cuts)
