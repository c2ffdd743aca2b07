"""The cutting planes of a structural SVM found so far, and the best weights under them.

A plane is a constraint: the score of the right ranking must exceed that of a wrong one by the loss
of the wrong one, or the slack of the plane's group makes up for the difference. The weights
minimise half their squared length plus the sum of all slacks, each times the price of its group.
The dual of this problem has one multiplier per plane; `qp.py` solves it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.jit import njit
from learners.svm_map.qp import DualProblem, maximise

MAX_IDLE = 50  # a plane is dropped if its multiplier is 0 in this many consecutive solutions
LEAST_DROPPED = 64  # fewer planes are not worth the copying


@njit
def dot(first: Floats, second: Floats) -> float:
    """Return the inner product, summed from the first number to the last."""
    total = 0.0
    for i in range(len(first)):
        total += first[i] * second[i]
    return total


@njit
def dots(planes: Floats, vector: Floats, products: Floats) -> None:
    """Write the inner product of each plane with the vector to `products`."""
    for k in range(len(planes)):
        products[k] = dot(planes[k], vector)


@njit
def weighted_sum(planes: Floats, multipliers: Floats, weights: Floats) -> None:
    """Add the planes, each times its multiplier, to the weights."""
    for k in range(len(planes)):
        if multipliers[k] != 0.0:
            for feature in range(len(weights)):
                weights[feature] += multipliers[k] * planes[k, feature]


class Solution(NamedTuple):
    """The best weights under the planes."""

    weights: Floats
    dual: float  # a lower bound of the optimum over all constraints
    slacks: Floats  # of each group: the slack that its planes require


class CuttingPlanes:
    """Planes in groups, with their inner products and the multipliers of the last solution."""

    def __init__(self, width: int, groups: int, price: float) -> None:
        self._unspent: Floats = np.full(groups, price)
        self._planes: Floats = np.empty((0, width))
        self._losses: Floats = np.empty(0)
        self._group: Ints = np.empty(0, np.int32)
        self._products: Floats = np.empty((0, 0))
        self._multipliers: Floats = np.empty(0)
        self._idle: Longs = np.empty(0, np.int64)
        self.added = 0

    def __len__(self) -> int:
        return len(self._losses)

    def add(self, plane: Floats, loss: float, group: int = 0) -> None:
        """Add a plane with the multiplier 0."""
        row = np.empty(len(self))
        dots(self._planes, plane, row)
        products = np.empty((len(self) + 1, len(self) + 1))
        products[:-1, :-1], products[-1, :-1], products[:-1, -1] = self._products, row, row
        products[-1, -1] = dot(plane, plane)
        self._products = products
        self._planes = np.concatenate((self._planes, plane[None]))
        self._losses = np.append(self._losses, loss)
        self._group = np.append(self._group, np.int32(group))
        self._multipliers = np.append(self._multipliers, 0.0)
        self._idle = np.append(self._idle, 0)
        self.added += 1

    def solve(self, tolerance: float) -> Solution:
        """Return the best weights under the planes; none is violated by more than `tolerance`."""
        problem = DualProblem(self._products, self._losses, self._group)
        maximise(problem, self._multipliers, self._unspent, tolerance)
        weights: Floats = np.zeros(self._planes.shape[1])
        weighted_sum(self._planes, self._multipliers, weights)
        dual = dot(self._losses, self._multipliers) - dot(weights, weights) / 2.0
        slacks = np.zeros(len(self._unspent))
        ahead = np.empty(len(self))
        dots(self._planes, weights, ahead)
        np.maximum.at(slacks, self._group, self._losses - ahead)
        self._drop_idle()
        return Solution(weights, dual, slacks)

    def _drop_idle(self) -> None:
        """Drop the planes that have had the multiplier 0 for long."""
        self._idle = np.where(self._multipliers > 0.0, 0, self._idle + 1)
        stay = self._idle < MAX_IDLE
        if len(self) - np.count_nonzero(stay) < LEAST_DROPPED:
            return
        self._planes, self._losses, self._group = (
            self._planes[stay], self._losses[stay], self._group[stay],
        )  # fmt: skip
        self._multipliers, self._idle = self._multipliers[stay], self._idle[stay]
        self._products = np.ascontiguousarray(self._products[stay][:, stay])
