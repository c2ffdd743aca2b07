"""PRank: a perceptron that predicts ranks.

Crammer and Singer, "Pranking with ranking" (NIPS 2001).
"""

from __future__ import annotations

from learners.arrays import Floats
from learners.jit import njit
from learners.ordinal.base import AVERAGE, RANKS, OrdinalLearner
from learners.ordinal.kernel import (
    OrdinalModel,
    OrdinalOptions,
    is_round,
    mean_columns,
    mean_thresholds,
    move_columns,
    move_supports,
    new_workspace,
    score_columns,
)
from learners.prototypes.support_set import BUDGET, KERNEL, score_supports
from learners.scores import RANK, SCORE
from learners.segment import Rows, Steps


@njit
def rank_by_thresholds(score: float, thresholds: Floats) -> int:
    """The first rank, from 1, whose threshold is above the score; a score on it is not below."""
    for r in range(len(thresholds)):
        if score - thresholds[r] < 0.0:
            return r + 1
    return len(thresholds) + 1


@njit
def prank_coefficients(
    score: float, thresholds: Floats, true: int, tau: Floats, shift: Floats
) -> bool:
    """Write how far the direction moves to `tau[0]` and each threshold to `shift`, if they do.

    See `PRank` for the formula. Returns False, and writes nothing, if the predicted rank is right.
    """
    if rank_by_thresholds(score, thresholds) == true:
        return False
    total = 0.0
    for r in range(len(thresholds)):
        side = 1.0 if true > r + 1 else -1.0
        error = side if (score - thresholds[r]) * side <= 0.0 else 0.0
        shift[r] = -error
        total += error
    tau[0] = total
    return True


@njit
def follow_prank(
    rows: Rows, steps: Steps, options: OrdinalOptions, rounds: int, model: OrdinalModel, out: Floats
) -> int:
    """Take the steps in order; return the number of rounds learned so far."""
    scores, mean, mean_cuts, tau, shift = new_workspace(options, model)
    weights, lagging, thresholds, threshold_sums, supports = model
    starts, all_terms, all_values = rows
    step_row, step_learn = steps.row, steps.learn
    label_starts, labels = steps.label_starts, steps.labels
    linear = options.budget == 0
    scored = -1  # the row that `scores` belongs to, if nothing was learned since
    for step in range(len(step_row)):
        row, learn = int(step_row[step]), step_learn[step]
        if learn and not is_round(label_starts, labels, step, options.ranks):
            continue
        terms = all_terms[starts[row] : starts[row + 1]]
        values = all_values[starts[row] : starts[row + 1]]
        if not learn or scored != row:  # a late label is learned by the model of today
            if linear:
                score_columns(terms, values, weights, scores)
            else:
                score_supports(terms, values, supports, options.columns, rounds, scores, mean)
        averaged = options.average and rounds > 0
        if not learn:
            if averaged and linear:
                mean_columns(terms, values, lagging, scores, rounds, mean)
            if averaged:  # a model in the weights never leaves a round out of the mean
                counted = rounds - supports.before[0]
                mean_thresholds(threshold_sums, supports.passed_before, counted, mean_cuts)
            score = mean[0] if averaged else scores[0]
            out[row, RANK] = rank_by_thresholds(score, mean_cuts if averaged else thresholds)
            out[row, SCORE] = score
            scored = row
            continue
        true = int(labels[label_starts[step]]) + 1
        if prank_coefficients(scores[0], thresholds, true, tau, shift):
            if linear:
                move_columns(terms, values, tau, rounds if options.average else 0, weights, lagging)
            else:
                move_supports(terms, values, tau, options, rounds, model)
            for r in range(len(thresholds)):
                thresholds[r] += shift[r]
        if options.average:
            for r in range(len(thresholds)):
                threshold_sums[r] += thresholds[r]
        rounds += 1
        scored = -1
    return rounds


class PRank(OrdinalLearner):
    """One direction, cut into ranks by thresholds that are learned with it.

    A document is scored by `w . x`. Thresholds `b_1 <= .. <= b_{k-1}` cut the line of scores into k
    intervals, one per rank; the last threshold, b_k, is infinite and is not kept. The predicted
    rank is the first whose threshold is above the score. If it is wrong, then with y_r = +1 for the
    thresholds below the true rank and -1 for those from it on,

        tau_r = y_r if (w . x - b_r) y_r <= 0, else 0
        w += (sum of tau_r) x,    b_r -= tau_r

    So the thresholds on the wrong side of the score move by one towards it, and the direction by
    the sum of their errors. Thresholds are whole numbers that move by one, and of two equal ones
    the lower never moves up alone, so they stay in order.

    Crammer and Singer, "Pranking with ranking" (NIPS 2001).

    Examples
    --------
    >>> from learners import PRank
    >>> model = PRank(ranks=3)
    >>> model.rank_one({"good": 1.0})  # nothing learned: on both thresholds, hence above them
    PredictedRank(rank=3, score=0.0)
    >>> model.learn_one({"good": 1.0}, 1)
    >>> model.rank_one({"good": 1.0}), model.thresholds
    (PredictedRank(rank=1, score=-2.0), array([1., 1.]))

    """

    summary = "PRank: one direction and ordered thresholds (Crammer & Singer 2001)"
    options = (RANKS, KERNEL, BUDGET, AVERAGE)

    @property
    def columns(self) -> int:
        """One direction."""
        return 1

    @property
    def threshold_count(self) -> int:
        """One threshold between any two ranks."""
        return self.ranks - 1

    def _take_steps(
        self, rows: Rows, steps: Steps, options: OrdinalOptions, model: OrdinalModel, out: Floats
    ) -> int:
        return follow_prank(rows, steps, options, self.rounds, model, out)
