"""The perceptron as a ranker of topics: one per topic, each learns whether its topic applies.

Rosenblatt, "The perceptron: a probabilistic model for information storage and organization in the
brain" (Psychological Review 65, 1958).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from learners.arrays import Floats, Ints
from learners.jit import njit
from learners.prototypes.base import AVERAGE, MARGIN, PrototypeLearner
from learners.prototypes.kernel import (
    Prototypes,
    move_prototypes,
    new_workspace,
    rank_row,
    score_row,
)
from learners.segment import Rows, Segment, Steps, labels_of, row_of
from learners.threads import columns_from, in_slices
from learners.update_rule import PERCEPTRON_RULE, UpdateRule


@njit
def perceptron_coefficients(
    scores: Floats, known: int, relevant: Ints, margin: float, tau: Floats
) -> bool:
    """Write how far each topic moves along the document to `tau`; return whether any does.

    See `Perceptron` for the formula.
    """
    for r in range(known):
        tau[r] = -1.0 if -scores[r] <= margin else 0.0
    for r in relevant:
        tau[r] = 1.0 if scores[r] <= margin else 0.0
    moved = False
    for r in range(known):
        moved |= tau[r] != 0.0
    return moved


@njit
def follow_perceptron(
    rows: Rows, steps: Steps, rule: UpdateRule, rounds: int, model: Prototypes, out: Floats
) -> int:
    """Take the steps in order; return the number of rounds learned so far."""
    starts, all_terms, all_values = rows
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels = steps.label_starts, steps.labels
    work = new_workspace(model.weights.shape[1])
    scored = -1  # the row that `work.scores` belongs to, if nothing was learned since
    for step in range(len(step_row)):
        row, known = int(step_row[step]), int(step_known[step])
        terms, values = row_of(starts, all_terms, all_values, row)
        if not step_learn[step]:
            rank_row(terms, values, known, rule.average, rounds, model, work, out[row])
            scored = row
            continue
        # A late label is learned by the prototypes of today. Topics that this document is the
        # first to carry have zero prototypes, so their scores are 0 as `work.scores` has them.
        if scored != row:
            score_row(terms, values, model.weights, known, work.scores)
        relevant = labels_of(label_starts, labels, step)
        if perceptron_coefficients(work.scores, known, relevant, rule.margin, work.tau):
            move_prototypes(terms, values, known, rule.average, rounds, work.tau, model)
        rounds += 1
        scored = -1
    return rounds


class Perceptron(PrototypeLearner):
    """One perceptron per topic, each learning by itself whether its topic applies.

    With t_r = +1 for a relevant topic and -1 for any other,

        w_r += t_r x    if t_r (w_r . x) <= margin

    So a document without topics still teaches every topic whose perceptron claims it.

    Rosenblatt, "The perceptron: a probabilistic model for information storage and organization in
    the brain" (Psychological Review 65, 1958).

    Examples
    --------
    >>> from learners import Perceptron
    >>> model = Perceptron().declare_topics(["grain", "ship", "trade"])
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> model.rank_one({"wheat": 1.0})
    [('grain', 1.0), ('ship', -1.0), ('trade', -1.0)]

    """

    independent_topics = True
    rule = PERCEPTRON_RULE
    summary = "one independent perceptron per topic"
    options = (MARGIN, AVERAGE)

    def __init__(self, margin: float = 0.0, average: bool = False) -> None:
        super().__init__(margin=margin, average=average)

    def _take_steps(self, segment: Segment, model: Prototypes, out: Floats) -> int:
        def bind(steps: Steps, first: int) -> Callable[[], int]:
            return partial(
                follow_perceptron,
                segment.rows, steps, self.update_rule, self.rounds, model.columns_from(first),
                columns_from(out, first),
            )  # fmt: skip

        return in_slices(segment, self.threads, bind)
