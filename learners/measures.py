"""How good a ranking is: the losses and measures of Crammer and Singer (2002), per round.

Ranks run from 1, best first; equal scores are ranked by topic index. In the losses a tie between
a relevant and an irrelevant topic is an error.

========================  =====================  =======================  ====================
measure                   range, better          no relevant topic        all topics relevant
========================  =====================  =======================  ====================
loss1 some pair wrong     0 or 1, lower          0                        0
loss2 wrong pairs         0 .. |y| |Y-y|, lower  0                        0
loss3 share of pairs      0 .. 1, lower          0                        0
one_error                 0 or 1, lower          does not exist           0
coverage                  0 .. k-1, lower        does not exist           k-1
average_precision         0 .. 1, higher         does not exist           1
recall, precision at r    0 .. 1, higher         does not exist           defined as always
========================  =====================  =======================  ====================

The losses are averaged over all rounds; a measure that does not exist for a document is averaged
over the rounds where it does.
"""

from __future__ import annotations

import numpy as np

from learners.jit import njit
from learners.segment import Floats, Ints, Longs

LOSS1, LOSS2, LOSS3, ONE_ERROR, COVERAGE, AVERAGE_PRECISION = range(6)
MEASURES = ("loss1", "loss2", "loss3", "one_error", "coverage", "average_precision")


@njit
def ranks_of(scores: Floats, known: int, relevant: Ints, ranks: Longs) -> None:
    """Write the ranks (1 = best, ties by index) of the relevant topics to `ranks`, ascending."""
    for i in range(len(relevant)):
        r = relevant[i]
        score = scores[r]
        rank = 1
        for s in range(known):
            rank += scores[s] > score
        for s in range(r):
            rank += scores[s] == score
        ranks[i] = rank
    ranks.sort()


@njit
def wrong_pairs(scores: Floats, known: int, relevant: Ints, above: Longs) -> int:
    """How many pairs of a relevant and an irrelevant topic are level or in the wrong order.

    Of each relevant topic by itself, how many irrelevant ones are level with or above it is written
    to `above`.
    """
    wrong = 0
    for i in range(len(relevant)):
        score = scores[relevant[i]]
        mine = 0
        for s in range(known):
            mine += scores[s] >= score
        for s in relevant:
            mine -= scores[s] >= score
        above[i] = mine
        wrong += mine
    return wrong


@njit
def measure_round(
    scores: Floats, known: int, relevant: Ints, ranks: Longs, above: Longs, values: Floats
) -> None:
    """Write the six measures of one ranking to `values`, NaN where a measure does not exist.

    `ranks` has one place per relevant topic and is filled with their ranks, ascending; `above` has
    as many and is filled with the number of irrelevant topics level with or above each, as listed.
    """
    values[:3] = 0.0
    values[3:] = np.nan
    count = len(relevant)
    if count == 0:
        return
    wrong = wrong_pairs(scores, known, relevant, above)
    if wrong > 0:
        values[LOSS1] = 1.0
        values[LOSS2] = wrong
        values[LOSS3] = wrong / (count * (known - count))
    ranks_of(scores, known, relevant, ranks)
    values[ONE_ERROR] = 0.0 if ranks[0] == 1 else 1.0
    values[COVERAGE] = ranks[count - 1] - 1.0
    precision = 0.0
    for i in range(count):
        precision += (i + 1) / ranks[i]
    values[AVERAGE_PRECISION] = precision / count
