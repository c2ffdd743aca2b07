"""MMP with a kernel: what the spec `mmp:kernel=poly2` builds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Longs
from learners.checks import count_of
from learners.jit import njit
from learners.learner import State
from learners.prototypes.mmp import MMP, mmp_coefficients
from learners.prototypes.support_set import (
    SupportArrays,
    Supports,
    add_support,
    keep_budget,
    max_instance_bytes,
    score_supports,
)
from learners.scores import DenseScores, RowScores
from learners.segment import Rows, Segment, Steps, labels_of, row_of
from learners.topic_learner import TopicLearner


class KernelMMPOptions(NamedTuple):
    """The options of MMP with a kernel."""

    loss: int
    margin: float
    average: bool
    budget: int


@njit
def follow_kernel_mmp(
    rows: Rows, steps: Steps, options: KernelMMPOptions, rounds: int,
    supports: SupportArrays, out: Floats,
) -> int:  # fmt: skip
    """Take the steps in order; return the number of rounds learned so far."""
    starts, all_terms, all_values = rows
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels = steps.label_starts, steps.labels
    average = options.average
    columns = supports.coefficients.shape[1]
    current, tau = np.zeros(columns), np.zeros(columns)
    mean = np.zeros(columns if average else 0)
    # The row that `current` belongs to, and how many topics it has, if nothing was learned since.
    scored, scored_known = -1, 0
    for step in range(len(step_row)):
        row, known = int(step_row[step]), int(step_known[step])
        terms, values = row_of(starts, all_terms, all_values, row)
        if not step_learn[step] or scored != row:
            score_supports(terms, values, supports, known, rounds, current, mean)
        if not step_learn[step]:
            scored, scored_known = row, known
            out[row, :known] = mean[:known] if average and rounds > 0 else current[:known]
            continue
        if scored == row:
            current[scored_known:known] = 0.0  # topics that this document is the first to carry
        relevant = labels_of(label_starts, labels, step)
        if mmp_coefficients(current, known, relevant, options.loss, options.margin, tau):
            add_support(terms, values, tau, known, rounds, supports)
            keep_budget(options.budget, rounds, average, supports.passed_before, supports)
        rounds += 1
        scored = -1
    return rounds


class KernelMMP(TopicLearner):
    """Multiclass multilabel perceptron over products of two features.

    The update rule is that of `MMP`. The model is the list of its updates (`support_set.py`)
    instead of prototypes:

        score_r = sum over updates i of tau_ir (x_i . x + 1)^2

    So it cannot be divided into shards, and no single term explains a score.

    Examples
    --------
    >>> from learners import KernelMMP
    >>> model = KernelMMP().declare_topics(["grain", "ship", "trade"])
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> model.rank_one({"wheat": 1.0})  # (1 + 1)^2 times 1, -1/2 and -1/2
    [('grain', 4.0), ('ship', -2.0), ('trade', -2.0)]

    """

    summary = MMP.summary
    unshardable = (
        "with a kernel it keeps instances instead of prototypes. "
        "Leave out shards, or use kernel=linear."
    )
    nonlinear = "with a kernel its scores are sums over instances, by products of two terms."
    options = MMP.options

    def __init__(
        self,
        loss: int = 1,
        margin: float = 0.0,
        average: bool = False,
        kernel: str = "poly2",
        budget: int = 1000,
    ) -> None:
        self.loss = loss
        self.margin = margin
        self.average = average
        self.kernel = kernel
        self.budget = budget
        self.rounds = 0
        self._supports = Supports()

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        options = KernelMMPOptions(self.loss, self.margin, self.average, self.budget)
        for piece in self._supports.make_room_for(segment):
            self.rounds = follow_kernel_mmp(
                piece.rows, piece.steps, options, self.rounds, self._supports.arrays, out
            )

    def forget(self, keep: Longs) -> None:
        """Drop the terms that left the vocabulary from all instances."""
        self._supports.forget(keep)

    def state(self) -> State:
        """The round and the instances."""
        return {"rounds": np.array(self.rounds), **self._supports.state()}

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` returned."""
        rounds = count_of(state, "rounds")
        self._supports.restore(state, rounds, self.budget)
        self.rounds = rounds

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """The instances have only terms and topics of the stream."""
        self._supports.check_references(terms, topics)

    def size_bytes(self) -> int:
        """Memory of the instances."""
        return self._supports.nbytes

    def max_bytes(self, terms: int, topics: int) -> int:
        """A budget of instances, and as many that are only needed for the average."""
        return max_instance_bytes(self.budget, terms, topics)
