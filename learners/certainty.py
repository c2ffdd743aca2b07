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
UNIT = 2.0**-51  # four times the rounding of one operation: two computations, and twice for safety


@njit
def order_is_certain(
    scores: Floats, known: int, touched: Bools, slack: Floats, history: Words
) -> bool:
    """Whether rounding cannot have changed the order of two topics, nor made or broken a tie."""
    count, widest = 0, 0.0
    for r in range(known):
        if touched[r]:
            count += 1
            widest = max(widest, slack[r])
    if count <= FEW:
        for r in range(known):
            if not touched[r]:
                continue
            for s in range(known):
                if abs(scores[r] - scores[s]) <= slack[r] + slack[s] and history[r] != history[s]:
                    return False
        return True
    order = np.argsort(scores[:known])
    for i in range(1, known):
        r, s = order[i - 1], order[i]
        if scores[s] - scores[r] > 2.0 * widest or history[r] == history[s]:
            continue
        if touched[r] or touched[s]:
            return False
    return True


@njit
def leads_are_certain(
    scores: Floats, known: int, relevant: Ints, margin: float,
    touched: Bools, slack: Floats, history: Words,
) -> bool:  # fmt: skip
    """Whether rounding cannot have changed which topics a relevant one leads by the margin."""
    for r in relevant:
        lead = scores[r]
        for s in range(known):
            if not (touched[r] or touched[s]) or history[r] == history[s]:
                continue
            rounding = UNIT * (abs(lead) + abs(scores[s]) + margin)
            if abs(lead - scores[s] - margin) <= slack[r] + slack[s] + rounding:
                return False
    return True


@njit
def sides_are_certain(
    scores: Floats, known: int, margin: float, touched: Bools, slack: Floats
) -> bool:
    """Whether rounding cannot have changed on which side of the margin any topic is."""
    certain = True
    for r in range(known):
        certain &= not touched[r] or abs(abs(scores[r]) - margin) > slack[r]
    return certain
