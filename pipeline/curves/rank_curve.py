"""Learning curves of ordinal lanes: how far the predicted rank is from the true rank.

`ranking_loss` and `hit_rate` are averaged over rounds 1..t, as in every curve. Kendall's tau-b says
whether documents of higher rank get higher predictions. It covers the last `WINDOW` rounds. It does
not exist while all true ranks, or all predicted ranks, are the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import InvalidArrayError, array_of, ints, longs
from learners.jit import njit
from learners.learner import State
from learners.rank_measures import RANK_MEASURES, tau_b
from learners.scores import RANK, Places, RankScores, RowScores
from learners.segment import Steps
from pipeline.curves.curve_checks import check_points
from pipeline.curves.topic_curve import LearningCurve, Point, is_kept

WINDOW = 1000  # rounds that tau-b covers
# The columns of a kept point: the round, the sums of the loss and of the hits, tau-b; then the true
# and the predicted rank of this round.
ROUND, LOSS, HITS, TAU, TRUE, PREDICTED = range(6)
COLUMNS = 6
# The losses by which lanes are compared: the loss as a share of the largest possible loss, and
# whether the rank was missed.
SHARE, DISTANCE, MISS = range(3)


class RankTotals(NamedTuple):
    """What a rank curve adds up from round to round."""

    tally: Floats  # the newest point, as sums
    window: Ints  # the true and the predicted rank of the last rounds, each minus one
    table: Longs  # how often each pair is in the window: predicted x true


@njit
def follow_ranks(
    steps: Steps, predicted: Floats, ranks: int, totals: RankTotals, points: Floats,
    measured: Floats,
) -> int:  # fmt: skip
    """Measure every learned row by its predicted rank; return how many points were kept.

    The losses by which lanes are compared are written to `measured`, one row per round.
    """
    tally, window, table = totals.tally, totals.window, totals.table
    kept = done = 0
    for step in range(len(steps.row)):
        if not steps.learn[step]:
            continue
        true = steps.labels[steps.label_starts[step]] + 1
        rank = int(predicted[steps.row[step], RANK])
        distance = abs(rank - true)
        at = int(tally[ROUND]) % len(window)
        tally[ROUND] += 1.0
        if tally[ROUND] > len(window):
            table[window[at, 1], window[at, 0]] -= 1
        window[at, 0], window[at, 1] = true - 1, rank - 1
        table[rank - 1, true - 1] += 1
        tally[LOSS] += distance
        tally[HITS] += distance == 0
        tally[TRUE], tally[PREDICTED] = true, rank
        measured[done, SHARE] = distance / (ranks - 1)
        measured[done, DISTANCE] = distance
        measured[done, MISS] = 1.0 if distance > 0 else 0.0
        done += 1
        if is_kept(int(tally[ROUND])):
            tally[TAU] = tau_b(table)
            points[kept] = tally
            kept += 1
    return kept


class RankCurve(LearningCurve):
    """The curve of an ordinal lane."""

    measures = RANK_MEASURES
    summed = ("ranking_loss", "hit_rate")
    compared = ("ranking_loss", "miss_rate")
    watched = "ranking_loss / (ranks - 1)"
    sum_columns = slice(ROUND, HITS + 1)
    labelled_column = ROUND

    def __init__(self, ranks: int) -> None:
        super().__init__(COLUMNS, has_topics=False)
        self.ranks = ranks
        self._window: Ints = np.zeros((WINDOW, 2), np.int32)
        self._table: Longs = np.zeros((ranks, ranks), np.int64)

    @property
    def spans(self) -> Sequence[float]:
        """A prediction can be off by the number of ranks minus 1."""
        return (self.ranks - 1.0, 1.0)

    def follow(self, steps: Steps, scores: RowScores, places: Places | None = None) -> Floats:
        """Add the rounds among `steps`, each measured by the rank that was predicted for its row.

        Returns what lanes are compared by, a row a round. A predicted rank has no `places`.
        """
        predicted = RankScores.expect(scores).matrix
        rounds = int(np.count_nonzero(steps.learn))
        points, measured = np.empty((rounds, COLUMNS)), np.empty((rounds, 3))
        before = self.rounds
        totals = RankTotals(self._tally, self._window, self._table)
        kept = follow_ranks(steps, predicted, self.ranks, totals, points, measured)
        if kept:
            self._points = np.concatenate((self._points, points[:kept]))
        if rounds:
            self._tally[TAU] = tau_b(self._table)
        self.changes.follow(measured[:, SHARE].copy(), steps, self.ranks, before)
        return measured

    @property
    def rounds_with_topics(self) -> int:
        """Every round has its one label."""
        return self.rounds

    def derived(self) -> dict[str, float | None]:
        """Return the share of rounds in which the rank was missed."""
        return {"miss_rate": value_of(self.last().values, "miss_rate")}

    @staticmethod
    def as_point(row: Floats) -> Point:
        """Return the averages over the rounds, and tau-b of the window."""
        rounds = int(row[ROUND])
        values: dict[str, float | None] = dict.fromkeys(RANK_MEASURES)
        if rounds:
            values["ranking_loss"] = float(row[LOSS] / rounds)
            values["hit_rate"] = float(row[HITS] / rounds)
            values["tau_b"] = None if np.isnan(row[TAU]) else float(row[TAU])
        return Point(
            rounds,
            values,
            int(row[TRUE]),
            int(row[PREDICTED]),
            abs(int(row[PREDICTED] - row[TRUE])),
        )

    @staticmethod
    def sums(row: Floats) -> dict[str, float]:
        """Return the sums of the loss and of the hits."""
        return {"ranking_loss": float(row[LOSS]), "hit_rate": float(row[HITS])}

    def state(self) -> State:
        """Return the sums, the kept points and the window as named arrays (copies)."""
        return {
            "tally": self._tally.copy(),
            "points": self._points.copy(),
            "window": self._window.copy(),
            "table": self._table.copy(),
            **self.changes.state(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        tally = array_of(state, "tally", np.float64, COLUMNS)
        points = array_of(state, "points", np.float64, None, COLUMNS)
        check_points(tally, points, (LOSS, HITS, TRUE, PREDICTED))
        window = ints(state, "window", WINDOW, 2, below=self.ranks)
        table = longs(state, "table", self.ranks, self.ranks, below=WINDOW + 1)
        # The table counts the pairs in the window; its counts would fall below zero otherwise.
        pairs = window[: min(int(tally[ROUND]), WINDOW)]
        counted = np.zeros_like(table)
        np.add.at(counted, (pairs[:, 1], pairs[:, 0]), 1)
        if not np.array_equal(counted, table):
            raise InvalidArrayError("array table does not count the pairs of array window")
        self.changes.restore(state)
        self._tally, self._points = tally.copy(), points.copy()
        self._window, self._table = window.copy(), table.copy()

    def check_references(self, topics: int) -> None:
        """Ranks are no topics, and all of them are known."""
        self.changes.check_references(0)


def value_of(values: Mapping[str, float | None], measure: str) -> float | None:
    """Return a measure at a point of any curve; `miss_rate` is 1 - `hit_rate`."""
    if measure != "miss_rate":
        return values[measure]
    hits = values["hit_rate"]
    return None if hits is None else 1.0 - hits
