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
    move_model,
    new_workspace,
    ranking_scores,
    score_document,
    sum_thresholds,
)
from learners.prototypes.support_set import BUDGET, KERNEL
from learners.scores import RANK, SCORE
from learners.segment import Rows, Steps, labels_of, row_of


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
    work = new_workspace(options, model)
    tau, shift, thresholds = work.tau, work.shift, model.thresholds
    scored = -1  # the row that `work.scores` belongs to, if nothing was learned since
    for step in range(len(steps.row)):
        row, learn = int(steps.row[step]), steps.learn[step]
        if learn and not is_round(steps, step, options.ranks):
            continue
        terms, values = row_of(rows, row)
        if not learn or scored != row:  # a late label is learned by the model of today
            score_document(terms, values, options, rounds, model, work)
        if not learn:
            scores, cuts = ranking_scores(terms, values, options, rounds, model, work)
            out[row, RANK] = rank_by_thresholds(scores[0], cuts)
            out[row, SCORE] = scores[0]
            scored = row
            continue
        true = labels_of(steps, step)[0] + 1
        if prank_coefficients(work.scores[0], thresholds, true, tau, shift):
            move_model(terms, values, tau, options, rounds, model)
            for r in range(len(thresholds)):
                thresholds[r] += shift[r]
        sum_thresholds(options, model)
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
    >>> from learners import DictLearner, PRank
    >>> model = DictLearner(PRank(ranks=3))
    >>> model.rank({"good": 1.0})  # nothing learned: on both thresholds, hence above them
    (3, 0.0)
    >>> model.learn({"good": 1.0}, 1)
    >>> model.rank({"good": 1.0}), model.learner.thresholds
    ((1, -2.0), array([1., 1.]))

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
