"""How good said ranks are.

===================  ==============  ==========================================================
measure              range, better   remarks
===================  ==============  ==========================================================
ranking_loss         0 .. k-1,       how many ranks the prediction was off; with thresholds, how
                     lower           many of them lie between it and the true rank
hit_rate             0 .. 1, higher  how often it was the true rank
tau_b                -1 .. 1,        Kendall's, over the pairs of documents in the window, with
                     higher          its correction for ties; does not exist (NaN) while all
                                     predictions or all true ranks there are the same
===================  ==============  ==========================================================
"""

from __future__ import annotations

import math

import numpy as np

from learners.arrays import Longs
from learners.jit import njit

RANK_MEASURES = ("ranking_loss", "hit_rate", "tau_b")


@njit
def tau_b(table: Longs) -> float:
    """Kendall's tau-b of so many pairs of each predicted (row) and true rank (column)."""
    ranks = len(table)
    by_predicted, by_true = table.sum(axis=1), table.sum(axis=0)
    ordered = 0  # pairs in the same order less pairs in opposite orders
    above = np.zeros(ranks, np.int64)  # of each true rank: those with a lower predicted rank
    for predicted in range(ranks):
        lower, higher = 0, above.sum()
        for true in range(ranks):
            higher -= above[true]
            ordered += table[predicted, true] * (lower - higher)
            lower += above[true]
        above += table[predicted]
    count = by_true.sum()
    every = count * (count - 1) // 2
    told = every - (by_predicted * (by_predicted - 1) // 2).sum()
    to_tell = every - (by_true * (by_true - 1) // 2).sum()
    if told == 0 or to_tell == 0:
        return np.nan
    return float(ordered / (math.sqrt(told) * math.sqrt(to_tell)))
