"""The dual problem of a structural SVM over a set of cutting planes: a quadratic program.

Each plane k has a loss l_k, a vector p_k and a multiplier a_k >= 0. The dual is::

    maximise  sum_k a_k l_k - |sum_k a_k p_k|^2 / 2

where the multipliers of a group of planes sum up to at most the price of that group. The rest of
the price is the multiplier of the group's slack, which acts as a plane without loss or length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit

TINY = 1e-300
PAIR_STEPS = 20_000  # steps on two multipliers between two steps on all of them
TURNS = 100  # of both kinds; the dual reached by then is a valid lower bound in any case


class DualProblem(NamedTuple):
    """The planes, as far as the dual depends on them."""

    products: Floats  # planes x planes: their inner products
    losses: Floats
    group: Ints  # the group of each plane


class DualPoint(NamedTuple):
    """Multipliers, and the slope of the dual there. Kernels move it in place."""

    multipliers: Floats  # of each plane
    unspent: Floats  # of each group: its price less the multipliers of its planes
    gains: Floats  # of each plane: the derivative of the dual by its multiplier


@njit
def ascend(problem: DualProblem, point: DualPoint, tolerance: float, max_steps: int) -> int:
    """Raise the dual until no plane is violated by more than `tolerance`; return the steps taken.

    Each step changes two multipliers of one group: that of the most violated plane (or the slack)
    rises, and the one that promises the largest gain falls.
    """
    products, group = problem.products, problem.group
    multipliers, unspent, gains = point
    count = len(multipliers)
    for step in range(max_steps):
        up, widest = -1, tolerance
        lowest = np.zeros(
            len(unspent)
        )  # of each group: the least gain of a multiplier that can fall
        for g in range(len(unspent)):
            lowest[g] = 0.0 if unspent[g] > 0.0 else np.inf
        highest = np.zeros(len(unspent))  # of each group; the gain of the slack is 0
        for k in range(count):
            g = group[k]
            if multipliers[k] > 0.0 and gains[k] < lowest[g]:
                lowest[g] = gains[k]
            highest[g] = max(highest[g], gains[k])
        worst = -1
        for g in range(len(unspent)):
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
        if up >= 0 and unspent[worst] > 0.0:
            best = gain * gain / max(own, TINY)
            down = -1
        for k in range(count):
            if group[k] == worst and multipliers[k] > 0.0 and gains[k] < gain:
                across = products[k, k] + own - (2.0 * products[k, up] if up >= 0 else 0.0)
                worth = (gain - gains[k]) ** 2 / max(across, TINY)
                if worth > best:
                    best, down = worth, k
        move_between(problem, point, worst, up, down)
    return max_steps


@njit
def move_between(problem: DualProblem, point: DualPoint, group: int, up: int, down: int) -> None:
    """Raise one multiplier and lower another by the same amount; -1 is the slack of the group."""
    products = problem.products
    multipliers, unspent, gains = point
    rise = gains[up] if up >= 0 else 0.0
    fall = gains[down] if down >= 0 else 0.0
    curve = 0.0
    if up >= 0:
        curve += products[up, up]
    if down >= 0:
        curve += products[down, down]
    if up >= 0 and down >= 0:
        curve -= 2.0 * products[up, down]
    most = multipliers[down] if down >= 0 else unspent[group]
    amount = min(most, (rise - fall) / max(curve, TINY))
    if up >= 0:
        multipliers[up] += amount
    else:
        unspent[group] += amount
    if down >= 0:
        multipliers[down] = 0.0 if amount == most else multipliers[down] - amount
    else:
        unspent[group] = 0.0 if amount == most else unspent[group] - amount
    for k in range(len(multipliers)):
        if up >= 0:
            gains[k] -= amount * products[k, up]
        if down >= 0:
            gains[k] += amount * products[k, down]


@njit
def eliminate(matrix: Floats, right: Floats) -> bool:
    """Solve linear equations in place of both sides; return False if they are singular."""
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
    problem: DualProblem, gains: Floats, free: Longs, tight: Longs
) -> tuple[Floats, bool]:
    """Return the step to the highest dual if the `free` multipliers had no bounds.

    The sums of the `tight` groups, which have nothing unspent, stay as they are. The second value
    says whether there is such a step.
    """
    products, group = problem.products, problem.group
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
        equations[i, i] += 1e-12 * total / count  # a plane may be a combination of other planes
        for t in range(len(tight)):
            if group[free[i]] == tight[t]:
                equations[i, count + t] = equations[count + t, i] = 1.0
    solved = eliminate(equations, goal)
    step = goal[:count].copy()
    for t in range(len(tight)):
        mean, members = 0.0, 0
        for i in range(count):
            if group[free[i]] == tight[t]:
                mean += step[i]
                members += 1
        for i in range(count):
            if group[free[i]] == tight[t]:
                step[i] -= mean / members  # what rounding added to the sum
    return step, solved


@njit
def leap(problem: DualProblem, point: DualPoint) -> None:
    """Move all multipliers above 0 at once, to the highest dual or the first bound, repeatedly.

    Steps on pairs make little progress where planes are long and nearly parallel.
    """
    group = problem.group
    multipliers, unspent, gains = point
    for _ in range(len(multipliers) + len(unspent)):
        free = np.flatnonzero(multipliers > 0.0)
        if len(free) == 0:
            return
        is_tight = np.zeros(len(unspent), np.bool_)
        for k in free:
            is_tight[group[k]] = not unspent[group[k]] > 0.0
        step, solved = direction(problem, gains, free, np.flatnonzero(is_tight))
        slope = 0.0
        for i in range(len(free)):
            slope += step[i] * gains[free[i]]
        if not solved or not slope > 0.0:
            return
        if not move_to_bound(problem, point, free, is_tight, step, slope):
            return


@njit
def move_to_bound(
    problem: DualProblem, point: DualPoint, free: Longs, is_tight: Bools, step: Floats, slope: float
) -> bool:
    """Move along `step` to the highest dual or the first bound; return whether a bound stopped it.

    `slope` is the derivative of the dual along `step`.
    """
    products, group = problem.products, problem.group
    multipliers, unspent, gains = point
    change = np.zeros(len(gains))
    unspent_step = np.zeros(len(unspent))
    for i in range(len(free)):
        if not is_tight[group[free[i]]]:
            unspent_step[group[free[i]]] -= step[i]
        for k in range(len(gains)):
            change[k] += products[k, free[i]] * step[i]
    curve = 0.0
    for i in range(len(free)):
        curve += step[i] * change[free[i]]
    amount = slope / max(curve, TINY)
    bound, bound_group = -1, -1
    for i in range(len(free)):
        if step[i] < 0.0 and -multipliers[free[i]] / step[i] <= amount:
            amount, bound = -multipliers[free[i]] / step[i], free[i]
    for g in range(len(unspent)):
        if unspent_step[g] < 0.0 and unspent[g] > 0.0 and -unspent[g] / unspent_step[g] <= amount:
            amount, bound, bound_group = -unspent[g] / unspent_step[g], -1, g
    for i in range(len(free)):
        multipliers[free[i]] = max(0.0, multipliers[free[i]] + amount * step[i])
    for g in range(len(unspent)):
        unspent[g] = max(0.0, unspent[g] + amount * unspent_step[g])
    if bound >= 0:
        multipliers[bound] = 0.0
    if bound_group >= 0:
        unspent[bound_group] = 0.0
    for k in range(len(gains)):
        gains[k] -= amount * change[k]
    return bound >= 0 or bound_group >= 0


@njit
def maximise(problem: DualProblem, multipliers: Floats, unspent: Floats, tolerance: float) -> None:
    """Raise the dual, in place, until no plane is violated by more than `tolerance`."""
    products, losses = problem.products, problem.losses
    count = len(losses)
    gains = np.empty(count)
    point = DualPoint(multipliers, unspent, gains)
    for _ in range(TURNS):
        for k in range(count):
            ahead = 0.0
            for other in range(count):
                ahead += products[k, other] * multipliers[other]
            gains[k] = losses[k] - ahead
        if ascend(problem, point, tolerance, PAIR_STEPS) < PAIR_STEPS:
            return
        leap(problem, point)
