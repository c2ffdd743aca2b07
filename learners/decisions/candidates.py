"""The numbers of one document while it is decided about: a table of rows x candidates.

What is computed for each candidate is a row of one table. It is computed for all places, also for
those without a candidate: so there is no branch to predict, and the processor handles several
candidates with each instruction. Where a row is added up, places without a candidate have a 0.
"""

from __future__ import annotations

from learners.arrays import Floats
from learners.decisions.decided import CANDIDATES
from learners.jit import njit_inline

RAW_SCORES = 0  # as the learner gave them
SCORES = 1  # in relation to recent scores
INTERCEPTS, SLOPES = 2, 3  # what the topics have of their own
INTERCEPTS_KNOWN, SLOPES_KNOWN = 4, 5
LOGITS = 6  # by the present weights, without pairs
SHARES = 7  # probabilities by these logits
PAIR_SUMS = 8  # what the likely topics say
PROBABILITIES = 9  # by the present weights; 0 if a candidate is given none
HITS = 10  # 1 if the topic is relevant, otherwise 0
ERRORS = 11  # by how much the probabilities were too low
STEEPS = 12  # slopes of the logistic curve there
SHRINKS = 13  # by which steps of the weights of pairs are multiplied
PRODUCTS = 14  # room for what is added up
TABLE_ROWS = 15
AT_ONCE = 4  # partial sums of a row, which a processor can add up together


@njit_inline
def total(table: Floats, row: int) -> float:
    """The sum of a row, in an order that is the same on every machine."""
    a = b = c = d = 0.0
    for place in range(0, CANDIDATES, AT_ONCE):
        a += table[row, place]
        b += table[row, place + 1]
        c += table[row, place + 2]
        d += table[row, place + 3]
    return (a + b) + (c + d)
