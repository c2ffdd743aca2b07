"""MMP with a kernel: what `mmp:kernel=poly2` builds.

The rule is MMP's; the model is the list of its updates (`support.py`) in place of prototypes. So it
cannot be divided over shards, and no term by itself explains a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit
from learners.learner import Learner, State
from learners.prototypes.base import MMP
from learners.prototypes.mmp import mmp_coefficients
from learners.prototypes.support_set import (
    SupportArrays,
    Supports,
    add_support,
    keep_budget,
    score_supports,
)
from learners.scores import DenseScores, RowScores
from learners.segment import Segment


@njit
def follow_supports(
    starts: Longs,
    all_terms: Ints,
    all_values: Floats,
    step_row: Ints,
    step_learn: Bools,
    step_known: Ints,
    label_starts: Longs,
    labels: Ints,
    loss: int,
    margin: float,
    average: bool,
    budget: int,
    rounds: int,
    supports: SupportArrays,
    out: Floats,
) -> int:
    """Take the steps in order; return the number of rounds learned so far."""
    columns = supports.coefficients.shape[1]
    current, tau = np.zeros(columns), np.zeros(columns)
    mean = np.zeros(columns if average else 0)
    scored, scored_known = -1, 0  # what `current` belongs to, if nothing was learned since
    for step in range(len(step_row)):
        row, known = int(step_row[step]), int(step_known[step])
        terms = all_terms[starts[row] : starts[row + 1]]
        values = all_values[starts[row] : starts[row + 1]]
        if not step_learn[step] or scored != row:
            score_supports(terms, values, supports, known, rounds, current, mean)
        if not step_learn[step]:
            scored, scored_known = row, known
            out[row, :known] = mean[:known] if average and rounds > 0 else current[:known]
            continue
        if scored == row:
            current[scored_known:known] = 0.0  # topics that this very document brought along
        relevant = labels[label_starts[step] : label_starts[step + 1]]
        if mmp_coefficients(current, known, relevant, loss, margin, tau):
            add_support(terms, values, tau, known, rounds, supports)
            keep_budget(budget, rounds, average, supports.passed_before, supports)
        rounds += 1
        scored = -1
    return rounds


class KernelMMP(Learner):
    """Multiclass multilabel perceptron over products of two features."""

    summary = MMP.summary
    unshardable = (
        "with a kernel it keeps instances instead of prototypes. "
        "Leave out shards, or use kernel=linear."
    )
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
        for piece in self._supports.pieces(segment):
            rows, steps = piece.rows, piece.steps
            self.rounds = follow_supports(
                rows.starts, rows.terms, rows.values,
                steps.row, steps.learn, steps.known, steps.label_starts, steps.labels,
                self.loss, self.margin, self.average, self.budget,
                self.rounds, self._supports.arrays, out,
            )  # fmt: skip

    def forget(self, keep: Longs) -> None:
        """Instances lose the terms that left the vocabulary."""
        self._supports.forget(keep)

    def state(self) -> State:
        """The round and the instances."""
        return {"rounds": np.array(self.rounds), **self._supports.state()}

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self.rounds = int(state["rounds"])
        self._supports.restore(state)

    def size_bytes(self) -> int:
        """Memory of the instances."""
        return self._supports.nbytes
