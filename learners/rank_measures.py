"""How good predicted ranks are, by round and over a window of the last rounds.

===================  ==============  ==========================================================
measure              range, better   remarks
===================  ==============  ==========================================================
ranking_loss         0 .. k-1,       how many ranks the prediction was off; with thresholds, how
                     lower           many of them lie between it and the true rank
exact                0 or 1, higher  whether it was the true rank
tau_b                -1 .. 1,        Kendall's, over the pairs of documents in the window, with
                     higher          its correction for ties; does not exist (NaN) while all
                                     predictions or all true ranks there are the same
===================  ==============  ==========================================================

A step is a round if it has exactly one label and that is one of the ranks, as in `ordinal.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from learners.jit import njit
from learners.learner import State
from learners.ordinal import RANK
from learners.segment import Bools, Floats, Ints, Longs, Steps

RANKING_LOSS, EXACT = 0, 1
RANK_MEASURES = ("ranking_loss", "exact")


@njit
def measure_ranks(
    step_row: Ints,
    step_learn: Bools,
    label_starts: Longs,
    labels: Ints,
    ranks: int,
    said: Floats,
    pairs: Longs,
) -> int:
    """Write the predicted and the true rank of every round to `pairs`; return how many there are.

    `said` is what an ordinal learner wrote: its ranks stand in the column `RANK`.
    """
    rounds = 0
    for step in range(len(step_row)):
        label = label_starts[step]
        if not step_learn[step] or label_starts[step + 1] != label + 1 or labels[label] >= ranks:
            continue
        pairs[rounds, 0] = int(said[step_row[step], RANK])
        pairs[rounds, 1] = labels[label] + 1
        rounds += 1
    return rounds


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


class RankWindow:
    """The last rounds of an ordinal lane, for measures over them."""

    def __init__(self, ranks: int, rounds: int = 1000) -> None:
        self.ranks = ranks
        self._pairs = np.zeros((rounds, 2), np.int64)
        self._rounds = 0  # so far; the next pair takes the place of the oldest

    def __len__(self) -> int:
        return min(self._rounds, len(self._pairs))

    def follow(self, steps: Steps, said: Floats) -> Floats:
        """Take the rounds among `steps`; returns the measures of each, a row a round."""
        pairs = np.empty((len(steps), 2), np.int64)
        rounds = measure_ranks(
            steps.row, steps.learn, steps.label_starts, steps.labels, self.ranks, said, pairs
        )
        pairs = pairs[:rounds]
        last = pairs[-len(self._pairs) :]
        first = self._rounds + rounds - len(last)
        self._pairs[(first + np.arange(len(last))) % len(self._pairs)] = last
        self._rounds += rounds
        off = np.abs(pairs[:, 0] - pairs[:, 1])
        return np.stack([off, off == 0], axis=1).astype(np.float64)

    def tau_b(self) -> float:
        """Kendall's tau-b over the window; NaN if it does not exist."""
        table = np.zeros((self.ranks, self.ranks), np.int64)
        np.add.at(table, tuple(self._pairs[: len(self)].T - 1), 1)
        return tau_b(table)

    def state(self) -> State:
        """The pairs of the window, and how many rounds there were."""
        return {"pairs": self._pairs[: len(self)].copy(), "rounds": np.array(self._rounds)}

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self._rounds = int(state["rounds"])
        self._pairs[: len(self)] = state["pairs"]
