"""Whether rounding could have changed a decision that is made by the scores of a document.

Scores within a stretch are computed in another order than an undivided learner would, so they
differ from its scores by rounding. `Bounds.slack` limits that difference. Scores of topics that the
stretch has not touched are exact, and topics with the same history have equal scores in any
arithmetic.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints
from learners.jit import njit

Words = npt.NDArray[np.uint64]

FEW = 16  # up to this many touched topics are compared pair by pair
MAX_CELLS = 2.0**48  # so that the number of a cell is an exact float
SPREAD, HIGH = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
UNIT = 2.0**-51  # four times the rounding of one operation: two computations, and twice for safety


class Bounds(NamedTuple):
    """What is known about the rounding errors of scores, by topic."""

    touched: Bools  # whether the score was computed within the stretch; else it is exact
    slack: Floats  # how far the score may be from that of an undivided learner
    history: Words  # equal for topics with the same updates so far


@njit
def order_is_certain(scores: Floats, known: int, bounds: Bounds) -> bool:
    """Return whether rounding cannot have swapped two topics, nor made or broken a tie.

    The score 0 is included in the comparison: topics that the label introduces have it.
    """
    touched, slack, history = bounds
    count, widest, largest = 0, 0.0, 0.0
    for r in range(known):
        largest = max(largest, abs(scores[r]))
        if touched[r]:
            count += 1
            widest = max(widest, slack[r])
            if abs(scores[r]) <= slack[r]:
                return False
    if count > FEW and largest < MAX_CELLS * widest:
        return no_neighbours(scores, known, bounds, count, 2.0 * widest)
    for r in range(known):
        if not touched[r]:
            continue
        for s in range(known):
            if abs(scores[r] - scores[s]) <= slack[r] + slack[s] and history[r] != history[s]:
                return False
    return True


@njit
def no_neighbours(scores: Floats, known: int, bounds: Bounds, count: int, width: float) -> bool:
    """Return whether no touched topic is within `width` of a topic with another history.

    This is faster than comparing all pairs when many topics (`count`) are touched. Scores are
    sorted into cells of twice that width, and once more into cells shifted by half a cell; two
    scores within `width` share a cell at least once. A hash table finds the touched topic of a
    cell. Several touched topics of one cell must have the same history, even if they are far enough
    apart, so the answer may be False without need.
    """
    touched, slack, history = bounds
    slots = 4
    while slots < 2 * count:
        slots *= 2
    cells = np.empty(known, np.int64)
    for shift in (0.0, 0.5):
        table = np.full(slots, -1, np.int32)
        for r in range(known):
            cells[r] = np.int64(np.floor(scores[r] / (2.0 * width) + shift))
        for of_touched in (True, False):
            for r in range(known):
                if touched[r] != of_touched:
                    continue
                slot = first_slot(cells[r], slots)
                while table[slot] >= 0 and cells[table[slot]] != cells[r]:
                    slot = (slot + 1) % slots
                s = table[slot]
                if s < 0:
                    if of_touched:
                        table[slot] = r
                elif history[r] != history[s] and (
                    of_touched or abs(scores[r] - scores[s]) <= slack[s]
                ):
                    return False
    return True


@njit
def first_slot(cell: int, slots: int) -> int:
    """Return where the search for a cell begins in a table of this many slots."""
    mixed = np.uint64(cell) * SPREAD
    return np.int64((mixed >> HIGH) & np.uint64(slots - 1))  # type: ignore[return-value]


@njit
def leads_are_certain(
    scores: Floats, known: int, relevant: Ints, margin: float, bounds: Bounds
) -> bool:
    """Return whether rounding cannot have changed which topics a relevant one leads by `margin`."""
    touched, slack, history = bounds
    doubtful = False
    for r in relevant:  # without a branch, so that the loop over all topics is vectorised
        score, past, is_touched = scores[r], history[r], touched[r]
        fixed = slack[r] + UNIT * (abs(score) + margin)
        for s in range(known):
            close = abs(score - scores[s] - margin) <= fixed + slack[s] + UNIT * abs(scores[s])
            doubtful |= close & (is_touched | touched[s]) & (history[s] != past)
    return not doubtful


@njit
def sides_are_certain(scores: Floats, known: int, margin: float, bounds: Bounds) -> bool:
    """Return whether rounding cannot have changed the side of the margin that a topic is on."""
    touched, slack, _ = bounds
    certain = True
    for r in range(known):
        certain &= not touched[r] or abs(abs(scores[r]) - margin) > slack[r]
    return certain
