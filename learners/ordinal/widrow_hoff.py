"""Widrow-Hoff: online regression on the ranks as numbers.

Widrow and Hoff, "Adaptive switching circuits" (IRE WESCON 1960).
"""

from __future__ import annotations

import math

from learners.arrays import Floats
from learners.jit import njit
from learners.options import Option
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

# If the rate is too large for the length of the vectors, predictions grow without end. They are
# useless then, but they must stay finite: an error counts as no larger than this.
LARGEST_ERROR = 1e100


@njit
def nearest_rank(score: float, ranks: int) -> int:
    """The rank nearest to a prediction; a half is rounded up."""
    # Clipped first: compiled code makes an integer of the floor, and a score may be too large.
    if score >= ranks:
        return ranks
    return math.floor(score + 0.5) if score > 1.0 else 1


@njit
def widrow_hoff_coefficient(score: float, true: int, rate: float) -> float:
    """How far the vector moves along the document: against the error, by the rate."""
    return -rate * min(max(score - true, -LARGEST_ERROR), LARGEST_ERROR)


@njit
def follow_widrow_hoff(
    rows: Rows, steps: Steps, options: OrdinalOptions, rate: float, rounds: int,
    model: OrdinalModel, out: Floats,
) -> int:  # fmt: skip
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
            score = mean[0] if averaged else scores[0]
            out[row, RANK] = nearest_rank(score, options.ranks)
            out[row, SCORE] = score
            scored = row
            continue
        true = int(labels[label_starts[step]]) + 1
        tau[0] = widrow_hoff_coefficient(scores[0], true, rate)
        if tau[0] != 0.0:
            if linear:
                move_columns(terms, values, tau, rounds if options.average else 0, weights, lagging)
            else:
                move_supports(terms, values, tau, options, rounds, model)
        rounds += 1
        scored = -1
    return rounds


class WidrowHoff(OrdinalLearner):
    """Regression on the rank as a number, with a constant rate.

    With the true rank y, every round moves the vector against the error:

        w -= rate (w . x - y) x

    also if the predicted rank was right. That rank is the score rounded to the nearest whole number
    and clipped to 1..k.

    Widrow and Hoff, "Adaptive switching circuits" (IRE WESCON 1960).

    Examples
    --------
    >>> from learners import WidrowHoff
    >>> model = WidrowHoff(ranks=3, rate=0.5)
    >>> model.learn_one({"good": 1.0}, 3)
    >>> model.rank_one({"good": 1.0})  # half-way from 0 to 3, rounded up
    PredictedRank(rank=2, score=1.5)

    """

    summary = "Widrow-Hoff: online regression on the rank, rounded"
    options = (
        RANKS,
        Option("rate", 0.01, "learning rate: how far a round moves against its error",
               least=0, most=1000),
        KERNEL,
        BUDGET,
        AVERAGE,
    )  # fmt: skip

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
    def columns(self) -> int:
        """One vector."""
        return 1

    def _take_steps(
        self, rows: Rows, steps: Steps, options: OrdinalOptions, model: OrdinalModel, out: Floats
    ) -> int:
        return follow_widrow_hoff(rows, steps, options, self.rate, self.rounds, model, out)
