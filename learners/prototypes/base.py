"""The engine of all prototype learners: one weight vector a topic, ranking by inner product.

The learners differ only by their update rule, which turns the scores of a document into a
coefficient tau for each topic; then every prototype moves by `tau_r x`. Weights are kept as terms
x topics, row-major: a document touches the rows of its own terms and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs
from learners.growing_array import Growing
from learners.jit import njit
from learners.learner import Learner, State
from learners.options import Option
from learners.prototypes.mmp import mmp_coefficients
from learners.prototypes.perceptron import perceptron_coefficients
from learners.prototypes.support_set import BUDGET, KERNEL
from learners.scores import DenseScores, RowScores
from learners.segment import Segment
from learners.update_rule import MMP_RULE, PERCEPTRON_RULE, UpdateRule


@njit
def score_row(terms: Ints, values: Floats, weights: Floats, known: int, scores: Floats) -> None:
    """Write `w_r . x` of the first `known` topics to `scores`, summed in the order of the terms."""
    scores[:known] = 0.0
    whole = len(terms) - len(terms) % 4
    # Four terms at a time: a quarter of the passes over the scores. Each score is still added up
    # in the order of the terms, so this changes no bit of it.
    for i in range(0, whole, 4):
        a, b, c, d = values[i], values[i + 1], values[i + 2], values[i + 3]
        wa, wb = weights[terms[i]], weights[terms[i + 1]]
        wc, wd = weights[terms[i + 2]], weights[terms[i + 3]]
        for r in range(known):
            scores[r] = (((scores[r] + a * wa[r]) + b * wb[r]) + c * wc[r]) + d * wd[r]
    for i in range(whole, len(terms)):
        value, weight = values[i], weights[terms[i]]
        for r in range(known):
            scores[r] += value * weight[r]


@njit
def add_outer(
    terms: Ints, values: Floats, tau: Floats, factor: float, known: int, weights: Floats
) -> None:
    """Add `factor * x tau^T` to the weights, skipping still topics when most of them are still."""
    moving = 0
    for r in range(known):
        moving += tau[r] != 0.0
    if 4 * moving > known:
        for i in range(len(terms)):
            value, weight = values[i] * factor, weights[terms[i]]
            for r in range(known):
                weight[r] += value * tau[r]
        return
    topics = np.flatnonzero(tau[:known])
    for i in range(len(terms)):
        value, weight = values[i] * factor, weights[terms[i]]
        for topic in topics:
            weight[topic] += value * tau[topic]


@njit
def follow_prototypes(
    starts: Longs,
    all_terms: Ints,
    all_values: Floats,
    step_row: Ints,
    step_learn: Bools,
    step_known: Ints,
    label_starts: Longs,
    labels: Ints,
    rule: int,
    loss: int,
    margin: float,
    average: bool,
    rounds: int,
    weights: Floats,
    lagging: Floats,
    out: Floats,
) -> int:
    """Take the steps in order; return the number of rounds learned so far.

    `lagging` holds the sum of (t - 1) times the update of round t, from which the mean of the
    prototypes after rounds 1..T follows as `(T weights - lagging) / T`.
    """
    current = np.zeros(weights.shape[1])  # scores of the prototypes as they stand
    lag = np.zeros(weights.shape[1])
    tau = np.zeros(weights.shape[1])
    scored = -1  # the row that `current` belongs to, if nothing was learned since
    for step in range(len(step_row)):
        row, known = int(step_row[step]), int(step_known[step])
        terms = all_terms[starts[row] : starts[row + 1]]
        values = all_values[starts[row] : starts[row + 1]]
        if not step_learn[step]:
            score_row(terms, values, weights, known, current)
            scored = row
            if average and rounds > 0:
                score_row(terms, values, lagging, known, lag)
                for r in range(known):
                    # One division of one difference: topics that are level stay level.
                    out[row, r] = (rounds * current[r] - lag[r]) / rounds
            else:
                out[row, :known] = current[:known]
            continue
        # Topics that this very document brought along have zero prototypes, hence zero scores,
        # and `current` is zero there; a late label is learned by today's scores.
        if scored != row:
            score_row(terms, values, weights, known, current)
        relevant = labels[label_starts[step] : label_starts[step + 1]]
        if rule == MMP_RULE:
            moved = mmp_coefficients(current, known, relevant, loss, margin, tau)
        else:
            moved = perceptron_coefficients(current, known, relevant, margin, tau)
        if moved:
            add_outer(terms, values, tau, 1.0, known, weights)
            if average and rounds > 0:
                add_outer(terms, values, tau, float(rounds), known, lagging)
        rounds += 1
        scored = -1
    return rounds


class PrototypeLearner(Learner):
    """A learner that keeps a prototype per topic; subclasses name their update rule."""

    rule: ClassVar[int]
    unshardable = ""

    def __init__(self, loss: int = 1, margin: float = 0.0, average: bool = False) -> None:
        self.loss = loss
        self.margin = margin
        self.average = average
        self.rounds = 0
        self._weights = Growing(2)
        self._lagging = Growing(2)

    @property
    def update_rule(self) -> UpdateRule:
        """The rule and its options."""
        return UpdateRule(self.rule, self.loss, self.margin, self.average)

    @property
    def weights(self) -> Floats:
        """The prototypes, terms x topics, as a view of what is in use."""
        return self._weights.view

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        self._weights.grow(segment.terms, segment.topics)
        if self.average:
            self._lagging.grow(segment.terms, segment.topics)
        rows, steps = segment.rows, segment.steps
        self.rounds = follow_prototypes(
            rows.starts, rows.terms, rows.values,
            steps.row, steps.learn, steps.known, steps.label_starts, steps.labels,
            self.rule, self.loss, self.margin, self.average,
            self.rounds, self._weights.room, self._lagging.room, out,
        )  # fmt: skip

    def forget(self, keep: Longs) -> None:
        """Drop the prototypes' rows of terms that left the vocabulary."""
        self._weights.keep(keep)
        self._lagging.keep(keep)

    def state(self) -> State:
        """The prototypes, the averaging sum if there is one, and the round."""
        state: State = {"rounds": np.array(self.rounds), "weights": self._weights.copy()}
        if self.average:
            state["lagging"] = self._lagging.copy()
        return state

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self.rounds = int(state["rounds"])
        self._weights.load(state["weights"])
        if self.average:
            self._lagging.load(state["lagging"])

    def weights_of(self, terms: Ints, topics: Longs) -> Floats:
        """The prototypes that it ranks with now, which are means of all so far with `average`."""
        places = np.ix_(terms, topics)
        weights: Floats = self._weights.room[places]
        if self.average and self.rounds > 0:
            weights = (self.rounds * weights - self._lagging.room[places]) / self.rounds
        return weights

    def size_bytes(self) -> int:
        """Memory of the prototypes and of the averaging sum."""
        return self._weights.nbytes + self._lagging.nbytes


MARGIN = Option("margin", 0.0, "a lead of no more than this counts as wrong when learning", least=0)
AVERAGE = Option("average", False, "rank by the mean of the prototypes of all rounds so far")


class MMP(PrototypeLearner):
    """Multiclass multilabel perceptron: topics of wrongly ordered pairs move, the others stay.

    Examples
    --------
    >>> from learners.slow.prototypes import SlowMMP
    >>> model = SlowMMP(loss=1)            # the same algorithm, one dict at a time
    >>> model.learn({"wheat": 1.0}, ["grain"], known=["grain", "ship", "trade"])
    >>> model.score({"wheat": 1.0}, known=["grain", "ship", "trade"])
    [1.0, -0.5, -0.5]

    """

    rule = MMP_RULE
    summary = "multiclass multilabel perceptron (Crammer & Singer 2002)"
    options = (
        Option("loss", 1, "which of the paper's losses the update is made for", choices=(1, 2, 3)),
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
        super().__init__(loss, margin, average)
        self.kernel = kernel  # another one is another model: see `KernelMMP`
        self.budget = budget


class Perceptron(PrototypeLearner):
    """One perceptron a topic, each learning by itself whether its topic applies."""

    rule = PERCEPTRON_RULE
    summary = "one independent perceptron a topic"
    options = (MARGIN, AVERAGE)

    def __init__(self, margin: float = 0.0, average: bool = False) -> None:
        super().__init__(margin=margin, average=average)
