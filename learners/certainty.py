"""Whether rounding could have decided otherwise: the judge of scores that were computed anew.

`slack` bounds how far each score may be from that of an undivided learner. Scores of topics that
were not touched are exact, and topics with the same history have the same score in any arithmetic.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from learners.jit import njit
from learners.segment import Bools, Floats, Ints

Words = npt.NDArray[np.uint64]

FEW = 16
MOST_CELLS = 2.0**48  # so that the number of a cell is exact
SPREAD, HIGH = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
UNIT = 2.0**-51  # four times the rounding of one operation: two computations, and twice for safety


@njit
def order_is_certain(
    scores: Floats, known: int, touched: Bools, slack: Floats, history: Words
) -> bool:
    """Whether rounding cannot have changed the order of two topics, nor made or broken a tie."""
    count, widest, largest = 0, 0.0, 0.0
    for r in range(known):
        largest = max(largest, abs(scores[r]))
        if touched[r]:
            count += 1
            widest = max(widest, slack[r])
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
    """The same for many topics: scores lie in cells so wide that only neighbours can be too close.

    A table finds the touched topic of a cell. If there are several, they must have the same past;
    that two others may share a cell and not be too close is not worth a second look.
    """
    places = 4
    while places < 2 * count:
        places *= 2
    table = np.full(places, -1, np.int64)
    cells = np.empty(known, np.int64)
    for r in range(known):
        cells[r] = np.int64(np.floor(scores[r] / width))
    for of_touched in (True, False):
        for r in range(known):
            if touched[r] != of_touched:
                continue
            for cell in range(cells[r] - 1, cells[r] + 2):
                place = place_of(cell, places)
                while table[place] >= 0 and cells[table[place]] != cell:
                    place = (place + 1) % places
                s = table[place]
                if s < 0:
                    continue
                crowded = of_touched and cell == cells[r]
                close = crowded or abs(scores[r] - scores[s]) <= slack[r] + slack[s]
                if close and history[r] != history[s]:
                    return False
            if of_touched:
                place = place_of(cells[r], places)
                while table[place] >= 0 and cells[table[place]] != cells[r]:
                    place = (place + 1) % places
                table[place] = r
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
