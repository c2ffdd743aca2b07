"""The cutting planes of a structural SVM found so far, and the best weights under them.

Each plane says that the weights must be ahead of a wrong ranking by its loss, or pay the slack of
its group. Minimising half the squared length of the weights plus all slacks, each times the price
of its group, has a dual with one multiplier a plane: those of a group add up to its price at most.
See `dual.py`.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.jit import njit
from learners.svm_map.qp import maximise

IDLE = 50  # solutions without a part in them, after which a plane is dropped
WORTH_DROPPING = 64


@njit
def dot(first: Floats, second: Floats) -> float:
    """The inner product, added up from the first number to the last."""
    total = 0.0
    for i in range(len(first)):
        total += first[i] * second[i]
    return total


@njit
def dots(planes: Floats, plane: Floats, found: Floats) -> None:
    """The inner products of some planes with one."""
    for k in range(len(planes)):
        found[k] = dot(planes[k], plane)


class Planes:
    """The planes, by group, with their inner products and the multipliers of the last solution."""

    def __init__(self, width: int, groups: int, price: float) -> None:
        self.left: Floats = np.full(groups, price)
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
        """Take a plane in; it has no part in the solution yet."""
        found = np.empty(len(self))
        dots(self._planes, plane, found)
        products = np.empty((len(self) + 1, len(self) + 1))
        products[:-1, :-1], products[-1, :-1], products[:-1, -1] = self._products, found, found
        products[-1, -1] = dot(plane, plane)
        self._products = products
        self._planes = np.concatenate((self._planes, plane[None]))
        self._losses = np.append(self._losses, loss)
        self._group = np.append(self._group, np.int32(group))
        self._multipliers = np.append(self._multipliers, 0.0)
        self._idle = np.append(self._idle, 0)
        self.added += 1

    def solve(self, close: float) -> tuple[Floats, float, Floats]:
        """The weights, the dual, and of each group the slack that its planes ask for."""
        maximise(self._products, self._losses, self._group, self.left, self._multipliers, close)
        weights: Floats = np.zeros(self._planes.shape[1])
        gather(self._planes, self._multipliers, weights)
        dual = dot(self._losses, self._multipliers) - dot(weights, weights) / 2.0
        slacks = np.zeros(len(self.left))
        ahead = np.empty(len(self))
        dots(self._planes, weights, ahead)
        np.maximum.at(slacks, self._group, self._losses - ahead)
        self._drop()
        return weights, dual, slacks

    def _drop(self) -> None:
        """Let go of planes that have had no part in the solution for long."""
        self._idle = np.where(self._multipliers > 0.0, 0, self._idle + 1)
        stay = self._idle < IDLE
        if len(self) - np.count_nonzero(stay) < WORTH_DROPPING:
            return
        self._planes, self._losses, self._group = (
            self._planes[stay], self._losses[stay], self._group[stay],
        )  # fmt: skip
        self._multipliers, self._idle = self._multipliers[stay], self._idle[stay]
        self._products = np.ascontiguousarray(self._products[stay][:, stay])


@njit
def gather(planes: Floats, multipliers: Floats, weights: Floats) -> None:
    """The sum of the planes, each times its multiplier."""
    for k in range(len(planes)):
        if multipliers[k] != 0.0:
            for feature in range(len(weights)):
                weights[feature] += multipliers[k] * planes[k, feature]
