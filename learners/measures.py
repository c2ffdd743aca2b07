"""How good a ranking is: the losses and measures of Crammer and Singer (2002), per round.

The measures r1, r5 and mrr are those of Madani, Connor and Greiner (2010). They look only at the
best true topic and, with many topics, at whether it was retrieved at all.

Ranks run from 1, best first; equal scores are ranked by topic index. In the losses a tie between
a relevant and an irrelevant topic is an error.

========================  =====================  =======================  ====================
measure                   range, better          no relevant topic        all topics relevant
========================  =====================  =======================  ====================
loss1 some pair wrong     0 or 1, lower          0                        0
loss2 wrong pairs         0 .. |y| |Y-y|, lower  0                        0
loss3 share of pairs      0 .. 1, lower          0                        0
one_error                 0 or 1, lower          does not exist           0
coverage                  0 .. k, lower          does not exist           k-1
average_precision         0 .. 1, higher         does not exist           1
r1, r5 hit by rank 1, 5   0 or 1, higher         does not exist           1
mrr 1 / rank of the best  0 .. 1, higher         does not exist           1
recall, precision at r    0 .. 1, higher         does not exist           by their definition
========================  =====================  =======================  ====================

The losses are averaged over all rounds. A measure that does not exist for some documents is
averaged over the rounds in which it does. `r1` is 1 - `one_error` unless no true topic was
retrieved. Then all true topics have the score 0: one may be first by its index, but that is no hit.

A topic that was discovered after the ranking was made takes part with the score 0. But an empty
ranking, made before any topic was known, is a miss in all measures except the losses: nothing is
found in it, so it adds nothing to precision and recall, there is no hit, and `coverage` is k, one
more than the last rank could give.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats, Longs
from learners.jit import njit

LOSS1, LOSS2, LOSS3, ONE_ERROR, COVERAGE, AVERAGE_PRECISION, R1, R5, MRR = range(9)
MEASURES = (
    "loss1", "loss2", "loss3", "one_error", "coverage", "average_precision", "r1", "r5", "mrr",
)  # fmt: skip
COMPARED = (LOSS1, LOSS3)  # lanes are compared by these losses, which are at most 1


@njit
def measure_round(known: int, ranks: Longs, above: Longs, hit: int, values: Floats) -> None:
    """Write the measures of one ranking to `values`, NaN where a measure does not exist.

    `ranks` are the ranks of the relevant topics that the ranking has, ascending. `above` says for
    every relevant topic how many irrelevant topics are level with or above it. `hit` is the rank of
    the best relevant topic, 0 if none was retrieved. `known` topics existed when the labels came.
    """
    values[:3] = 0.0
    values[3:] = np.nan
    count = len(above)
    if count == 0:
        return
    wrong = above.sum()
    if wrong > 0:
        values[LOSS1] = 1.0
        values[LOSS2] = wrong
        values[LOSS3] = wrong / (count * (known - count))
    ranked = len(ranks)
    values[ONE_ERROR] = 0.0 if ranked > 0 and ranks[0] == 1 else 1.0
    values[COVERAGE] = ranks[count - 1] - 1.0 if ranked == count else known
    precision = 0.0
    for i in range(ranked):
        precision += (i + 1) / ranks[i]
    values[AVERAGE_PRECISION] = precision / count
    values[R1] = 1.0 if hit == 1 else 0.0
    values[R5] = 1.0 if 1 <= hit <= 5 else 0.0
    values[MRR] = 1.0 / hit if hit > 0 else 0.0
