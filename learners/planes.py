"""The cutting planes of a structural SVM found so far, and the best weights under them.

Each plane says that the weights must be ahead of a wrong ranking by its loss, or pay the slack of
its group. Minimising half the squared length of the weights plus all slacks, each times the price
of its group, has a dual with one multiplier a plane: those of a group add up to its price at most.
It is solved two multipliers at a time: of the most violated plane (or the slack) one rises, and
another one of its group falls, chosen by what that gains.
"""

from __future__ import annotations

import numpy as np

from learners.jit import njit
from learners.segment import Floats, Ints, Longs

MOST_STEPS = 200_000  # of one solution; what is reached by then is a lower bound all the same
TINY = 1e-300
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


@njit
def ascend(
    products: Floats, group: Ints, left: Floats, multipliers: Floats, gains: Floats, close: float
) -> int:
    """Raise the dual until nothing is violated by more than `close`; returns the steps taken.

    `gains` is what a multiplier gains at first when it rises: the loss of its plane less what the
    weights are ahead. `left[g]` is what group g has not given to any plane: the multiplier of a
    plane without loss or length.
    """
    count = len(multipliers)
    for step in range(MOST_STEPS):
        up, most = -1, close
        lowest = np.zeros(len(left))  # of each group: the least gain that can be given up
        for g in range(len(left)):
            lowest[g] = 0.0 if left[g] > 0.0 else np.inf
        highest = np.zeros(len(left))  # at least that of the slack
        for k in range(count):
            g = group[k]
            if multipliers[k] > 0.0 and gains[k] < lowest[g]:
                lowest[g] = gains[k]
            highest[g] = max(highest[g], gains[k])
        worst = -1
        for g in range(len(left)):
            if highest[g] - lowest[g] > most:
                most, worst = highest[g] - lowest[g], g
        if worst < 0:
            return step
        gain = 0.0
        for k in range(count):
            if group[k] == worst and gains[k] > gain:
                up, gain = k, gains[k]
        down, best = -2, -1.0
        own = products[up, up] if up >= 0 else 0.0
        if up >= 0 and left[worst] > 0.0:
            best = gain * gain / max(own, TINY)
            down = -1
        for k in range(count):
            if group[k] == worst and multipliers[k] > 0.0 and gains[k] < gain:
                across = products[k, k] + own - (2.0 * products[k, up] if up >= 0 else 0.0)
                worth = (gain - gains[k]) ** 2 / max(across, TINY)
                if worth > best:
                    best, down = worth, k
        move_between(products, worst, up, down, left, multipliers, gains)
    return MOST_STEPS


@njit
def move_between(
    products: Floats, group: int, up: int, down: int, left: Floats, multipliers: Floats,
    gains: Floats,
) -> None:  # fmt: skip
    """Let one multiplier rise by what another one falls; -1 is the slack of the group."""
    rise = gains[up] if up >= 0 else 0.0
    fall = gains[down] if down >= 0 else 0.0
    curve = 0.0
    if up >= 0:
        curve += products[up, up]
    if down >= 0:
        curve += products[down, down]
    if up >= 0 and down >= 0:
        curve -= 2.0 * products[up, down]
    most = multipliers[down] if down >= 0 else left[group]
    amount = min(most, (rise - fall) / max(curve, TINY))
    if up >= 0:
        multipliers[up] += amount
    else:
        left[group] += amount
    if down >= 0:
        multipliers[down] = 0.0 if amount == most else multipliers[down] - amount
    else:
        left[group] = 0.0 if amount == most else left[group] - amount
    for k in range(len(multipliers)):
        if up >= 0:
            gains[k] -= amount * products[k, up]
        if down >= 0:
            gains[k] += amount * products[k, down]


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
        gains = self._losses - self._ahead()
        ascend(self._products, self._group, self.left, self._multipliers, gains, close)
        weights: Floats = np.zeros(self._planes.shape[1])
        gather(self._planes, self._multipliers, weights)
        dual = dot(self._losses, self._multipliers) - dot(weights, weights) / 2.0
        slacks = np.zeros(len(self.left))
        ahead = np.empty(len(self))
        dots(self._planes, weights, ahead)
        np.maximum.at(slacks, self._group, self._losses - ahead)
        self._drop()
        return weights, dual, slacks

    def _ahead(self) -> Floats:
        """How far the weights of the last solution are ahead of each plane's ranking."""
        ahead = np.empty(len(self))
        dots(self._products, self._multipliers, ahead)
        return ahead

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
