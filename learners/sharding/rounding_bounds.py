"""Whether rounding could have decided otherwise: the judge of scores that were computed anew.

`slack` bounds how far each score may be from that of an undivided learner. Scores of topics that
were not touched are exact, and topics with the same history have the same score in any arithmetic.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints
from learners.jit import njit

Words = npt.NDArray[np.uint64]

FEW = 16
MOST_CELLS = 2.0**48  # so that the number of a cell is exact
SPREAD, HIGH = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
UNIT = 2.0**-51  # four times the rounding of one operation: two computations, and twice for safety


@njit
def order_is_certain(
    scores: Floats, known: int, touched: Bools, slack: Floats, history: Words
) -> bool:
    """Whether rounding cannot have changed the order of two topics, nor made or broken a tie.

    Nor with 0, which is the score of topics that are not known yet, when the label brings some.
    """
    count, widest, largest = 0, 0.0, 0.0
    for r in range(known):
        largest = max(largest, abs(scores[r]))
        if touched[r]:
            count += 1
            widest = max(widest, slack[r])
            if abs(scores[r]) <= slack[r]:
                return False
    if count > FEW and largest < MOST_CELLS * widest:
        return no_neighbours(scores, known, touched, slack, history, count, 2.0 * widest)
    for r in range(known):
        if not touched[r]:
            continue
        for s in range(known):
            if abs(scores[r] - scores[s]) <= slack[r] + slack[s] and history[r] != history[s]:
                return False
    return True


@njit
def no_neighbours(
    scores: Floats, known: int, touched: Bools, slack: Floats, history: Words,
    count: int, width: float,
) -> bool:  # fmt: skip
    """The same for many topics, none of which is too close to one that is `width` away.

    Scores lie in cells of twice that width, and once more in cells that are shifted by half: too
    close is only who shares a cell. A table finds the touched topic of a cell; if there are several
    they must have the same past, though they might be far enough apart.
    """
    places = 4
    while places < 2 * count:
        places *= 2
    cells = np.empty(known, np.int64)
    for shift in (0.0, 0.5):
        table = np.full(places, -1, np.int32)
        for r in range(known):
            cells[r] = np.int64(np.floor(scores[r] / (2.0 * width) + shift))
        for of_touched in (True, False):
            for r in range(known):
                if touched[r] != of_touched:
                    continue
                place = place_of(cells[r], places)
                while table[place] >= 0 and cells[table[place]] != cells[r]:
                    place = (place + 1) % places
                s = table[place]
                if s < 0:
                    if of_touched:
                        table[place] = r
                elif history[r] != history[s] and (
                    of_touched or abs(scores[r] - scores[s]) <= slack[s]
                ):
                    return False
    return True


@njit
def place_of(cell: int, places: int) -> int:
    """Where in a table of so many places a cell is looked for first."""
    mixed = np.uint64(cell) * SPREAD
    return np.int64((mixed >> HIGH) & np.uint64(places - 1))  # type: ignore[return-value]


@njit
def leads_are_certain(
    scores: Floats, known: int, relevant: Ints, margin: float,
    touched: Bools, slack: Floats, history: Words,
) -> bool:  # fmt: skip
    """Whether rounding cannot have changed which topics a relevant one leads by the margin."""
    doubtful = False
    for r in relevant:  # without a branch, so that the loop over all topics runs on whole vectors
        lead, past, mine = scores[r], history[r], touched[r]
        fixed = slack[r] + UNIT * (abs(lead) + margin)
        for s in range(known):
            close = abs(lead - scores[s] - margin) <= fixed + slack[s] + UNIT * abs(scores[s])
            doubtful |= close & (mine | touched[s]) & (history[s] != past)
    return not doubtful


@njit
def sides_are_certain(
    scores: Floats, known: int, margin: float, touched: Bools, slack: Floats
) -> bool:
    """Whether rounding cannot have changed on which side of the margin any topic is."""
    certain = True
    for r in range(known):
        certain &= not touched[r] or abs(abs(scores[r]) - margin) > slack[r]
    return certain
