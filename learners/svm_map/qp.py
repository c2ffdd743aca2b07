"""The dual of a structural SVM over some planes: which multipliers make the best weights.

Maximise the losses of the planes, each times its multiplier, less half the squared length of the
weights, which are the sum of the planes times theirs. No multiplier is negative, and those of a
group add up to its price at most; what is left of the price is the multiplier of a slack, a plane
without loss or length.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit

TINY = 1e-300
PAIRS = 20_000  # steps of two multipliers, after which it is time for one of all
TURNS = 100  # of both; what is reached by then is a lower bound all the same


@njit
def ascend(
    products: Floats, group: Ints, left: Floats, multipliers: Floats, gains: Floats, close: float,
    most: int,
) -> int:  # fmt: skip
    """Raise the dual until nothing is violated by more than `close`; returns the steps taken.

    Two multipliers at a time: that of the most violated plane (or the slack) rises, and another one
    of its group falls, chosen by what that gains. `gains` is what a multiplier gains at first when
    it rises: the loss of its plane less what the weights are ahead. `left[g]` is what group g has
    not given to any plane.
    """
    count = len(multipliers)
    for step in range(most):
        up, widest = -1, close
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
            if highest[g] - lowest[g] > widest:
                widest, worst = highest[g] - lowest[g], g
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
    return most


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


@njit
def eliminate(matrix: Floats, right: Floats) -> bool:
    """Solve linear equations, in place of both sides; False if that cannot be done."""
    count = len(right)
    for column in range(count):
        pivot = column
        for row in range(column + 1, count):
            if abs(matrix[row, column]) > abs(matrix[pivot, column]):
                pivot = row
        if not abs(matrix[pivot, column]) > TINY:
            return False
        if pivot != column:
            for k in range(column, count):
                swapped = matrix[column, k]
                matrix[column, k] = matrix[pivot, k]
                matrix[pivot, k] = swapped
            held = right[column]
            right[column] = right[pivot]
            right[pivot] = held
        for row in range(column + 1, count):
            factor = matrix[row, column] / matrix[column, column]
            if factor != 0.0:
                for k in range(column, count):
                    matrix[row, k] -= factor * matrix[column, k]
                right[row] -= factor * right[column]
    for column in range(count - 1, -1, -1):
        for k in range(column + 1, count):
            right[column] -= matrix[column, k] * right[k]
        right[column] /= matrix[column, column]
    return True


@njit
def direction(
    products: Floats, group: Ints, tight: Longs, free: Longs, gains: Floats
) -> tuple[Floats, bool]:
    """Where the dual is highest if the free multipliers had no bounds.

    The sums of groups that have nothing left stay as they are.
    """
    count = len(free)
    equations = np.zeros((count + len(tight), count + len(tight)))
    goal = np.zeros(count + len(tight))
    total = 0.0
    for i in range(count):
        total += products[free[i], free[i]]
    for i in range(count):
        goal[i] = gains[free[i]]
        for j in range(count):
            equations[i, j] = products[free[i], free[j]]
        equations[i, i] += 1e-12 * total / count  # planes may be combinations of others
        for t in range(len(tight)):
            if group[free[i]] == tight[t]:
                equations[i, count + t] = equations[count + t, i] = 1.0
    solved = eliminate(equations, goal)
    found = goal[:count].copy()
    for t in range(len(tight)):
        mean, members = 0.0, 0
        for i in range(count):
            if group[free[i]] == tight[t]:
                mean += found[i]
                members += 1
        for i in range(count):
            if group[free[i]] == tight[t]:
                found[i] -= mean / members  # whatever rounding added to the sum
    return found, solved


@njit
def leap(products: Floats, group: Ints, left: Floats, multipliers: Floats, gains: Floats) -> None:
    """Move all multipliers that are not 0 at once, to the best place or the first bound; and on.

    Steps of pairs crawl where planes are long and nearly alike. `gains` is kept up to date.
    """
    for _ in range(len(multipliers) + len(left)):
        free = np.flatnonzero(multipliers > 0.0)
        if len(free) == 0:
            return
        is_tight = np.zeros(len(left), np.bool_)
        for k in free:
            is_tight[group[k]] = not left[group[k]] > 0.0
        move, solved = direction(products, group, np.flatnonzero(is_tight), free, gains)
        slope = 0.0
        for i in range(len(free)):
            slope += move[i] * gains[free[i]]
        if not solved or not slope > 0.0:
            return
        if not move_to_bound(
            products, group, is_tight, free, move, slope, left, multipliers, gains
        ):
            return


@njit
def move_to_bound(
    products: Floats, group: Ints, is_tight: Bools, free: Longs, move: Floats, slope: float,
    left: Floats, multipliers: Floats, gains: Floats,
) -> bool:  # fmt: skip
    """Go as far as it pays; True if a bound was in the way."""
    given = np.zeros(len(left))
    change = np.zeros(len(gains))
    for i in range(len(free)):
        if not is_tight[group[free[i]]]:
            given[group[free[i]]] -= move[i]
        for k in range(len(gains)):
            change[k] += products[k, free[i]] * move[i]
    curve = 0.0
    for i in range(len(free)):
        curve += move[i] * change[free[i]]
    amount = slope / max(curve, TINY)
    first, first_left = -1, -1
    for i in range(len(free)):
        if move[i] < 0.0 and -multipliers[free[i]] / move[i] <= amount:
            amount, first = -multipliers[free[i]] / move[i], free[i]
    for g in range(len(left)):
        if given[g] < 0.0 and left[g] > 0.0 and -left[g] / given[g] <= amount:
            amount, first, first_left = -left[g] / given[g], -1, g
    for i in range(len(free)):
        multipliers[free[i]] = max(0.0, multipliers[free[i]] + amount * move[i])
    for g in range(len(left)):
        left[g] = max(0.0, left[g] + amount * given[g])
    if first >= 0:
        multipliers[first] = 0.0
    if first_left >= 0:
        left[first_left] = 0.0
    for k in range(len(gains)):
        gains[k] -= amount * change[k]
    return first >= 0 or first_left >= 0


@njit
def maximise(
    products: Floats, losses: Floats, group: Ints, left: Floats, multipliers: Floats, close: float
) -> None:
    """Raise the dual until nothing is violated by more than `close`."""
    count = len(losses)
    gains = np.empty(count)
    for _ in range(TURNS):
        for k in range(count):
            ahead = 0.0
            for other in range(count):
                ahead += products[k, other] * multipliers[other]
            gains[k] = losses[k] - ahead
        if ascend(products, group, left, multipliers, gains, close, PAIRS) < PAIRS:
            return
        leap(products, group, left, multipliers, gains)
