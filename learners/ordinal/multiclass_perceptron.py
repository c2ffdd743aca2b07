"""The multiclass perceptron for ranks: one prototype per rank, as if ranks had no order.

Crammer and Singer, "Ultraconservative online algorithms for multiclass problems" (JMLR 3, 2003).
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
    move_columns,
    move_supports,
    new_workspace,
    score_columns,
)
from learners.prototypes.support_set import BUDGET, KERNEL, score_supports
from learners.scores import RANK, SCORE
from learners.segment import Rows, Steps


@njit
def best_rank(scores: Floats) -> int:
    """The rank, from 1, of the largest score; of equal scores the lowest rank."""
    best = 0
    for r in range(1, len(scores)):
        if scores[r] > scores[best]:
            best = r
    return best + 1


@njit
def largest(scores: Floats) -> float:
    """The largest score; numba's own `max` costs more than scoring a document does."""
    most = scores[0]
    for score in scores[1:]:
        most = max(most, score)
    return float(most)


@njit
def multiclass_coefficients(scores: Floats, true: int, tau: Floats) -> bool:
    """Write how far the prototype of each rank moves to `tau`; return whether any does.

    See `MulticlassPerceptron` for the formula. If none moves, `tau` is left as it is.
    """
    errors = 0
    for r in range(len(scores)):
        errors += r != true - 1 and scores[r] >= scores[true - 1]
    if errors == 0:
        return False
    for r in range(len(scores)):
        tau[r] = -1.0 / errors if scores[r] >= scores[true - 1] else 0.0
    tau[true - 1] = 1.0
    return True


@njit
def follow_multiclass(
    rows: Rows, steps: Steps, options: OrdinalOptions, rounds: int, model: OrdinalModel, out: Floats
) -> int:
    """Take the steps in order; return the number of rounds learned so far."""
    scores, mean, _, tau, _ = new_workspace(options, model)
    weights, lagging, _, _, supports = model
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
            used = mean if averaged else scores
            out[row, RANK] = best_rank(used)
            out[row, SCORE] = largest(used)
            scored = row
            continue
        true = int(labels[label_starts[step]]) + 1
        if multiclass_coefficients(scores, true, tau):
            if linear:
                move_columns(terms, values, tau, rounds if options.average else 0, weights, lagging)
            else:
                move_supports(terms, values, tau, options, rounds, model)
        rounds += 1
        scored = -1
    return rounds


class MulticlassPerceptron(OrdinalLearner):
    """One prototype per rank, as if ranks were classes without an order.

    The predicted rank is that of the best score, the lowest of equal ones. Every rank that scores
    level with or above the true rank is an error. The prototype of the true rank moves by `+x`, and
    the errors share `-x` equally. A tie is an error even if its order was right; otherwise
    prototypes that are all zero would stay zero.

    Crammer and Singer, "Ultraconservative online algorithms for multiclass problems" (JMLR 3,
    2003), with the uniform update.

    Examples
    --------
    >>> from learners import MulticlassPerceptron
    >>> model = MulticlassPerceptron(ranks=3)
    >>> model.rank_one({"good": 1.0})  # all level: the lowest rank
    PredictedRank(rank=1, score=0.0)
    >>> model.learn_one({"good": 1.0}, 3)
    >>> model.rank_one({"good": 1.0})
    PredictedRank(rank=3, score=1.0)

    """

    summary = "multiclass perceptron: one prototype per rank, the order of ranks is ignored"
    options = (RANKS, KERNEL, BUDGET, AVERAGE)

    @property
    def columns(self) -> int:
        """One prototype per rank."""
        return self.ranks

    def _take_steps(
        self, rows: Rows, steps: Steps, options: OrdinalOptions, model: OrdinalModel, out: Floats
    ) -> int:
        return follow_multiclass(rows, steps, options, self.rounds, model, out)
