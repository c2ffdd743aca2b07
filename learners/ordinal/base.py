"""The engine of the ordinal learners: a document has one rank in 1..k, and ranks are in order.

What they share: one or k columns of weights (a vector, or a prototype a rank), scores by inner
product or by a kernel, a rank from the scores, and an update that adds a multiple of the document
to every column. They differ by how a rank is read off and by their update rule, in files of their
own: `prank.py`, `widrow_hoff.py` and `multiclass_perceptron.py`.

Of a segment they use the steps with exactly one label, which is the rank less one. A step without
a label, or with one past the last rank of the lane, is no round and changes nothing. `known` plays
no part: the ranks are there from the beginning.

Chosen where the papers are silent: everything starts from zero, thresholds too, so that the first
prediction of PRank is rank k, of Widrow-Hoff rank 1 (0, clipped) and of the multiclass perceptron
rank 1 (all level). A score on a threshold is above it. There is no constant feature: who wants one
puts it into the document, or takes poly2, which has one. With `average`, vectors and thresholds are
means of those after each round so far; means of ordered thresholds are ordered.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs
from learners.growing_array import Growing
from learners.jit import njit
from learners.learner import Learner, State
from learners.options import Option
from learners.ordinal.multiclass_perceptron import best_rank, multiclass_coefficients
from learners.ordinal.prank import prank_coefficients, rank_by_thresholds
from learners.ordinal.widrow_hoff import nearest_rank, widrow_hoff_coefficient
from learners.prototypes.base import add_outer, score_row
from learners.prototypes.support_set import (
    BUDGET,
    KERNEL,
    SupportArrays,
    Supports,
    add_support,
    keep_budget,
    score_supports,
)
from learners.scores import RankScores, RowScores
from learners.segment import Segment

PRANK_RULE = 0
WIDROW_HOFF_RULE = 1
MULTICLASS_RULE = 2

RANK, SCORE = 0, 1  # the columns of what an ordinal learner says of a row


@njit
def score_columns(terms: Ints, values: Floats, weights: Floats, scores: Floats) -> None:
    """Write the inner product with every column to `scores`, summed in the order of the terms."""
    if len(scores) > 1:
        score_row(terms, values, weights, len(scores), scores)
        return
    total = 0.0
    for i in range(len(terms)):
        total += values[i] * weights[terms[i], 0]
    scores[0] = total


@njit
def add_columns(terms: Ints, values: Floats, tau: Floats, factor: float, weights: Floats) -> None:
    """Add `factor * x tau^T` to the weights."""
    if len(tau) > 1:
        add_outer(terms, values, tau, factor, len(tau), weights)
        return
    move = tau[0]
    for i in range(len(terms)):
        weights[terms[i], 0] += values[i] * factor * move


@njit
def largest(scores: Floats) -> float:
    """The largest score; numba's own `max` costs more than scoring a document does."""
    most = scores[0]
    for score in scores[1:]:
        most = max(most, score)
    return float(most)


@njit
def rank_of(rule: int, ranks: int, scores: Floats, thresholds: Floats) -> int:
    """The rank, from 1, that the scores say."""
    if rule == PRANK_RULE:
        return rank_by_thresholds(scores[0], thresholds)
    if rule == WIDROW_HOFF_RULE:
        return nearest_rank(scores[0], ranks)
    return best_rank(scores)


@njit
def ordinal_coefficients(
    rule: int,
    rate: float,
    scores: Floats,
    thresholds: Floats,
    true: int,
    tau: Floats,
    shift: Floats,
) -> bool:
    """Write how far every column and every threshold moves, if they do; say whether."""
    if rule == PRANK_RULE:
        return prank_coefficients(scores[0], thresholds, true, tau, shift)
    if rule == WIDROW_HOFF_RULE:
        tau[0] = widrow_hoff_coefficient(scores[0], true, rate)
        return bool(tau[0] != 0.0)
    return multiclass_coefficients(scores, true, tau)


@njit
def follow_ordinal(
    starts: Longs,
    all_terms: Ints,
    all_values: Floats,
    step_row: Ints,
    step_learn: Bools,
    label_starts: Longs,
    labels: Ints,
    rule: int,
    ranks: int,
    columns: int,
    rate: float,
    average: bool,
    rounds: int,
    weights: Floats,
    lagging: Floats,
    thresholds: Floats,
    passed: Floats,
    budget: int,
    supports: SupportArrays,
    out: Floats,
) -> int:
    """Take the steps in order; return the number of rounds learned so far.

    With a budget the supports are the model, otherwise the weights are. `lagging` holds the sum of
    (t - 1) times the update of round t, as in `follow_prototypes`, and `passed` the sum of the
    thresholds after each round.
    """
    current, tau, shift = np.zeros(columns), np.zeros(columns), np.zeros(len(thresholds))
    mean, mean_thresholds = np.zeros(columns if average else 0), np.zeros(len(thresholds))
    scored = -1  # the row that `current` belongs to, if nothing was learned since
    for step in range(len(step_row)):
        row, learn = int(step_row[step]), step_learn[step]
        label = label_starts[step]
        if learn and (label_starts[step + 1] != label + 1 or labels[label] >= ranks):
            continue
        terms = all_terms[starts[row] : starts[row + 1]]
        values = all_values[starts[row] : starts[row + 1]]
        if not learn or scored != row:  # a late label is learned by today's scores
            if budget > 0:
                score_supports(terms, values, supports, columns, rounds, current, mean)
            else:
                score_columns(terms, values, weights, current)
        if not learn:
            scored = row
            if average and rounds > 0:
                if budget == 0:
                    score_columns(terms, values, lagging, mean)
                    for c in range(columns):
                        mean[c] = (rounds * current[c] - mean[c]) / rounds
                # Sums of whole numbers, up to the division: their means are in order as they are.
                # Where all is in the weights, no round is ever left out of the mean.
                counted = rounds - supports.before[0]
                mean_thresholds[:] = (passed - supports.passed_before) / counted
                out[row, RANK] = rank_of(rule, ranks, mean, mean_thresholds)
                out[row, SCORE] = largest(mean)
            else:
                out[row, RANK] = rank_of(rule, ranks, current, thresholds)
                out[row, SCORE] = largest(current)
            continue
        true = labels[label] + 1
        if ordinal_coefficients(rule, rate, current, thresholds, true, tau, shift):
            if budget == 0:
                add_columns(terms, values, tau, 1.0, weights)
                if average and rounds > 0:
                    add_columns(terms, values, tau, float(rounds), lagging)
            elif tau.any():  # errors of thresholds can cancel out; then only these move
                add_support(terms, values, tau, columns, rounds, supports)
                keep_budget(budget, rounds, average, passed, supports)
            for r in range(len(thresholds)):
                thresholds[r] += shift[r]
        if average:
            for r in range(len(thresholds)):
                passed[r] += thresholds[r]
        rounds += 1
        scored = -1
    return rounds


RANKS = Option("ranks", 5, "how many ranks there are, 1 the lowest", least=2, most=1000)
AVERAGE = Option("average", False, "rank by the mean of the models of all rounds so far")


class OrdinalLearner(Learner):
    """A learner of ranks; subclasses name their update rule.

    `follow` writes two numbers to the row of `scores` that a ranking step is about: the predicted
    rank in the column `RANK`, and in the column `SCORE` what it was read off (for a prototype a
    rank: the best of their scores).
    """

    rule: ClassVar[int]
    scores_class = RankScores
    unshardable = "a shard is a part of the topics, and this learner learns ranks."

    def __init__(
        self, ranks: int = 5, kernel: str = "linear", budget: int = 1000, average: bool = False
    ) -> None:
        self.ranks = ranks
        self.kernel = kernel
        self.budget = budget
        self.average = average
        self.rounds = 0
        directions = 1 if self.columns == 1 else 2
        self._weights = Growing(directions)
        self._lagging = Growing(directions)
        self._thresholds = np.zeros(ranks - 1 if self.rule == PRANK_RULE else 0)
        self._passed = np.zeros_like(self._thresholds)
        self._supports = Supports(len(self._thresholds))

    @property
    @abstractmethod
    def columns(self) -> int:
        """How many vectors it keeps."""

    @property
    def thresholds(self) -> Floats:
        """What cuts the line of scores into ranks, as they stand; empty if nothing does."""
        return self._thresholds.copy()

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; two columns a row, see the class."""
        out = RankScores.expect(scores, segment).matrix
        if self.kernel == "linear":
            shape = (segment.terms, self.columns)[: len(self._weights.shape)]
            self._weights.grow(*shape)
            if self.average:
                self._lagging.grow(*shape)
            self._take(segment, 0, out)
            return
        of_ranks = Segment(segment.rows, segment.steps, segment.terms, self.columns)
        for piece in self._supports.pieces(of_ranks):
            self._take(piece, self.budget, out)

    def _take(self, segment: Segment, budget: int, out: Floats) -> None:
        rows, steps = segment.rows, segment.steps
        self.rounds = follow_ordinal(
            rows.starts, rows.terms, rows.values,
            steps.row, steps.learn, steps.label_starts, steps.labels,
            self.rule, self.ranks, self.columns, self._rate, self.average, self.rounds,
            in_columns(self._weights), in_columns(self._lagging),
            self._thresholds, self._passed,
            budget, self._supports.arrays, out,
        )  # fmt: skip

    @property
    def _rate(self) -> float:
        return 0.0

    def forget(self, keep: Longs) -> None:
        """Drop the weights of terms that left the vocabulary, or the terms of the instances."""
        self._weights.keep(keep)
        self._lagging.keep(keep)
        if self.kernel != "linear":
            self._supports.forget(keep)

    def state(self) -> State:
        """The round, the thresholds, and the weights or the instances."""
        state: State = {"rounds": np.array(self.rounds), "thresholds": self._thresholds.copy()}
        if self.average:
            state["passed"] = self._passed.copy()
        if self.kernel != "linear":
            return {**state, **self._supports.state()}
        state["weights"] = self._weights.copy()
        if self.average:
            state["lagging"] = self._lagging.copy()
        return state

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self.rounds = int(state["rounds"])
        self._thresholds = state["thresholds"].astype(np.float64)
        if self.average:
            self._passed = state["passed"].astype(np.float64)
        if self.kernel != "linear":
            self._supports.restore(state)
            return
        self._weights.load(state["weights"])
        if self.average:
            self._lagging.load(state["lagging"])

    def weights_of(self, terms: Ints, topics: Longs) -> Floats | None:
        """What it multiplies these terms by for these ranks (less one); None with a kernel.

        One vector is the same for every rank.
        """
        if self.kernel != "linear":
            return None
        places = np.ix_(terms, topics if self.columns > 1 else np.zeros(len(topics), np.int64))
        weights: Floats = in_columns(self._weights)[places]
        if self.average and self.rounds > 0:
            lagging = in_columns(self._lagging)[places]
            weights = (self.rounds * weights - lagging) / self.rounds
        return weights

    def size_bytes(self) -> int:
        """Memory of the weights or instances, of the averaging sums and of the thresholds."""
        numbers = self._weights.nbytes + self._lagging.nbytes + self._supports.nbytes
        return numbers + self._thresholds.nbytes + self._passed.nbytes


def in_columns(weights: Growing) -> Floats:
    """The room of a vector as one column; that of a matrix as it is."""
    return weights.room.reshape(-1, 1) if weights.room.ndim == 1 else weights.room


class PRank(OrdinalLearner):
    """One direction, cut into ranks by thresholds that are learned with it.

    Examples
    --------
    >>> from learners.slow.ordinal import SlowPRank
    >>> model = SlowPRank(ranks=3)         # the same algorithm, one dict at a time
    >>> model.rank({"good": 1.0})          # nothing learned: on both thresholds, hence above them
    (3, 0.0)
    >>> model.learn({"good": 1.0}, 1)
    >>> model.rank({"good": 1.0}), model.thresholds
    ((1, -2.0), [1.0, 1.0])

    """

    rule = PRANK_RULE
    summary = "PRank: one direction and ordered thresholds (Crammer & Singer 2001)"
    options = (RANKS, KERNEL, BUDGET, AVERAGE)

    @property
    def columns(self) -> int:
        """One direction."""
        return 1


class WidrowHoff(OrdinalLearner):
    """Regression on the rank as a number, with a constant rate."""

    rule = WIDROW_HOFF_RULE
    summary = "Widrow-Hoff: online regression on the rank, rounded"
    options = (
        RANKS,
        Option("rate", 0.01, "how far a round moves against its error", least=0, most=1000),
        KERNEL,
        BUDGET,
        AVERAGE,
    )

    def __init__(
        self,
        ranks: int = 5,
        rate: float = 0.01,
        kernel: str = "linear",
        budget: int = 1000,
        average: bool = False,
    ) -> None:
        super().__init__(ranks, kernel, budget, average)
        self.rate = rate

    @property
    def _rate(self) -> float:
        return self.rate

    @property
    def columns(self) -> int:
        """One vector."""
        return 1


class MulticlassPerceptron(OrdinalLearner):
    """A prototype a rank, as if ranks were classes without an order."""

    rule = MULTICLASS_RULE
    summary = "multiclass perceptron: a prototype a rank, order ignored"
    options = (RANKS, KERNEL, BUDGET, AVERAGE)

    @property
    def columns(self) -> int:
        """A prototype a rank."""
        return self.ranks
