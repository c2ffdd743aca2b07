"""How good predicted ranks are.

===================  ==============  ==========================================================
measure              range, better   remarks
===================  ==============  ==========================================================
ranking_loss         0 .. k-1,       distance of the predicted from the true rank: the number of
                     lower           thresholds between the two
hit_rate             0 .. 1, higher  how often the predicted rank was the true rank
tau_b                -1 .. 1,        Kendall's tau-b over the pairs of documents in the window,
                     higher          corrected for ties; does not exist (NaN) while all predicted
                                     or all true ranks in the window are the same
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
    """Kendall's tau-b of a table that counts predicted (row) and true ranks (column)."""
    ranks = len(table)
    by_predicted, by_true = table.sum(axis=1), table.sum(axis=0)
    ordered = 0  # pairs in the same order minus pairs in opposite order
    above = np.zeros(ranks, np.int64)  # of each true rank: documents with a lower predicted rank
    for predicted in range(ranks):
        lower, higher = 0, above.sum()
        for true in range(ranks):
            higher -= above[true]
            ordered += table[predicted, true] * (lower - higher)
            lower += above[true]
        above += table[predicted]
    count = by_true.sum()
    every = count * (count - 1) // 2
    untied = every - (by_predicted * (by_predicted - 1) // 2).sum()
    truly_untied = every - (by_true * (by_true - 1) // 2).sum()
    if untied == 0 or truly_untied == 0:
        return np.nan
    return float(ordered / (math.sqrt(untied) * math.sqrt(truly_untied)))
