"""MMP: the multiclass multilabel perceptron, an online learner of topic rankings.

Crammer and Singer, "A new family of online algorithms for category ranking" (SIGIR 2002).
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.jit import njit
from learners.options import Option, OptionError
from learners.prototypes.base import AVERAGE, MARGIN, PrototypeLearner
from learners.prototypes.kernel import (
    Prototypes,
    move_prototypes,
    new_workspace,
    rank_row,
    score_row,
)
from learners.prototypes.mmp_slice import follow_together
from learners.prototypes.support_set import BUDGET, KERNEL
from learners.segment import Rows, Segment, Steps, labels_of, row_of
from learners.threads import Columns, slices_for
from learners.update_rule import MMP_RULE, UpdateRule

# The least pairs of a topic and a term per step and thread: with fewer, threads meet too often.
MIN_STEP = 15_000


@njit
def mmp_coefficients(
    scores: Floats, known: int, relevant: Ints, loss: int, margin: float, tau: Floats
) -> bool:
    """Write how far each topic moves along the document to `tau`; return whether any does.

    See `MMP` for the formula. If no topic moves, `tau` is left as it is.
    """
    gained = np.empty(len(relevant), np.int64)
    pairs = 0
    for i in range(len(relevant)):
        lead = scores[relevant[i]]
        # Relevant topics are counted too, so that the loop over all topics has no branch and
        # runs on whole vectors. The few relevant ones are subtracted after it.
        count = 0
        for s in range(known):
            count += lead - scores[s] <= margin
        for r in relevant:
            count -= lead - scores[r] <= margin
        gained[i] = count
        pairs += count
    if pairs == 0:
        return False
    tau[:known] = 0.0
    for r in relevant:
        lead = scores[r]
        for s in range(known):
            tau[s] -= 1.0 if lead - scores[s] <= margin else 0.0
    for i in range(len(relevant)):
        tau[relevant[i]] = gained[i]
    if loss == 2:
        return True
    divisor = float(pairs if loss == 1 else len(relevant) * (known - len(relevant)))
    for r in range(known):
        tau[r] /= divisor
    return True


@njit
def follow_mmp(
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
        if mmp_coefficients(work.scores, known, relevant, rule.loss, rule.margin, work.tau):
            move_prototypes(terms, values, known, rule.average, rounds, work.tau, model)
        rounds += 1
        scored = -1
    return rounds


class MMP(PrototypeLearner):
    r"""Multiclass multilabel perceptron: topics of wrongly ordered pairs move, the others stay.

    A topic r is scored by `w_r . x`. Let E be the pairs (r, s) of a relevant and an irrelevant
    topic where r leads by no more than `margin`, and let n_r be the number of pairs of E that
    topic r is in. Then

        w_r += n_r / c x    for relevant topics,    w_s -= n_s / c x    for the others

    with c = |E| for `loss=1`, c = 1 for `loss=2`, and c = the number of all pairs of a relevant
    and an irrelevant topic for `loss=3`. A tie is an error. A document with no relevant topic, or
    with all of them, has no pairs and moves nothing.

    Crammer and Singer, "A new family of online algorithms for category ranking" (SIGIR 2002).

    Examples
    --------
    >>> from learners import MMP
    >>> model = MMP(loss=1).declare_topics(["grain", "ship", "trade"])
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> model.rank_one({"wheat": 1.0})
    [('grain', 1.0), ('ship', -0.5), ('trade', -0.5)]

    """

    rule = MMP_RULE
    summary = "multiclass multilabel perceptron (Crammer & Singer 2002)"
    options = (
        Option("loss", 1, "the loss of the paper that updates reduce", choices=(1, 2, 3)),
        MARGIN,
        AVERAGE,
        KERNEL,
        BUDGET,
    )

    def __init__(
        self,
        loss: int = 1,
        margin: float = 0.0,
        average: bool = False,
        kernel: str = "linear",
        budget: int = 1000,
    ) -> None:
        if kernel != "linear":
            raise OptionError(
                f"MMP has no kernel but linear. Got {kernel!r:.80}. Use KernelMMP, or the spec "
                "mmp:kernel=poly2."
            )
        super().__init__(loss, margin, average)
        self.kernel = kernel  # any other kernel needs another model: see `KernelMMP`
        self.budget = budget

    def _take_steps(self, segment: Segment, model: Prototypes, out: Floats) -> int:
        slices = slices_for(segment, self.threads, min_step=MIN_STEP)
        if len(slices) > 1:
            return follow_together(segment, slices, self.update_rule, self.rounds, model, out)
        return follow_mmp(segment.rows, segment.steps, self.update_rule, self.rounds, model, out)

    def warm_up(self) -> None:
        """Compile the kernel of several threads, with a segment that has no steps."""
        nothing: Ints = np.zeros(0, np.int32)
        start: Longs = np.zeros(1, np.int64)
        rows = Rows(start, nothing, np.zeros(0))
        steps = Steps(nothing, np.zeros(0, np.bool_), nothing, start, nothing, nothing)
        model = Prototypes(np.zeros((0, 0)), np.zeros((0, 0)))
        follow_together(
            Segment(rows, steps, 0, 0), [Columns(0, 0)], self.update_rule, 0, model,
            np.zeros((0, 0)),
        )  # fmt: skip
