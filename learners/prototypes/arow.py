"""AROW: one linear classifier a topic that knows how sure it is of every weight.

Adaptive regularisation of weights (Crammer, Kulesza and Dredze 2009), with a diagonal covariance.
A weight has a variance, 1 at first, which shrinks with every document that it learns from. So rare
words still move far when they come, long after common words have settled; one pass over a stream
is then worth about what a batch learner makes of many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs
from learners.growing_array import Growing
from learners.jit import njit
from learners.learner import Learner, State
from learners.options import Option
from learners.prototypes.base import score_row
from learners.scores import DenseScores, RowScores
from learners.segment import Segment


@njit
def variance_of(kept: float) -> float:
    """A variance as it is kept: 0 where nothing was learned yet, so that room may grow by zeros."""
    return kept if kept > 0.0 else 1.0


@njit
def spread_of(
    terms: Ints, values: Floats, bias: float, variances: Floats, prior_variances: Floats,
    known: int, spread: Floats,
) -> None:  # fmt: skip
    """Write how unsure each topic is of the document, `x^T V_r x`, to `spread`."""
    spread[:known] = 0.0
    for i in range(len(terms)):
        value, variance = values[i], variances[terms[i]]
        for r in range(known):
            spread[r] += value * variance_of(variance[r]) * value
    for r in range(known):
        spread[r] += bias * variance_of(prior_variances[r]) * bias


@njit
def learn_row(
    terms: Ints, values: Floats, bias: float, known: int, noise: Floats, steps: Floats,
    spread: Floats, weights: Floats, variances: Floats, prior: Floats, prior_variances: Floats,
) -> None:  # fmt: skip
    """Move the topics that have a step along the document, each weight by its variance.

    A variance V of a value x becomes V (1 - V x^2 / (spread + noise)). It is written as a product
    of what is positive, so that no rounding brings it down to 0.
    """
    moving = np.flatnonzero(steps[:known])
    for i in range(len(terms)):
        value, weight, variance = values[i], weights[terms[i]], variances[terms[i]]
        for r in moving:
            sure = variance_of(variance[r])
            part = value * sure
            weight[r] += steps[r] * part
            rest = (spread[r] - part * value) + noise[r]
            variance[r] = sure * (rest / (spread[r] + noise[r]))
    for r in moving:
        sure = variance_of(prior_variances[r])
        part = bias * sure
        prior[r] += steps[r] * part
        rest = (spread[r] - part * bias) + noise[r]
        prior_variances[r] = sure * (rest / (spread[r] + noise[r]))


@njit
def follow_arow(
    starts: Longs, all_terms: Ints, all_values: Floats, step_row: Ints, step_learn: Bools,
    step_known: Ints, label_starts: Longs, labels: Ints, rho: float, positive: float, bias: float,
    weights: Floats, variances: Floats, prior: Floats, prior_variances: Floats, out: Floats,
) -> None:  # fmt: skip
    """Take the steps in order."""
    topics = weights.shape[1]
    current, spread, noise, steps = (
        np.zeros(topics), np.zeros(topics), np.zeros(topics), np.zeros(topics),
    )  # fmt: skip
    for step in range(len(step_row)):
        row, known = int(step_row[step]), int(step_known[step])
        terms = all_terms[starts[row] : starts[row + 1]]
        values = all_values[starts[row] : starts[row + 1]]
        score_row(terms, values, weights, known, current)
        for r in range(known):
            current[r] += bias * prior[r]
        if not step_learn[step]:
            out[row, :known] = current[:known]
            continue
        spread_of(terms, values, bias, variances, prior_variances, known, spread)
        # The hinge: a topic learns where its score is short of 1, or of -1 if it does not apply.
        for r in range(known):
            noise[r] = rho
            steps[r] = -(1.0 + current[r]) / (spread[r] + rho) if current[r] > -1.0 else 0.0
        for r in labels[label_starts[step] : label_starts[step + 1]]:
            noise[r] = rho / positive
            short = current[r] < 1.0
            steps[r] = (1.0 - current[r]) / (spread[r] + noise[r]) if short else 0.0
        learn_row(
            terms, values, bias, known, noise, steps, spread, weights, variances, prior,
            prior_variances,
        )  # fmt: skip


class Arow(Learner):
    """One linear classifier a topic, with a variance for each of its weights.

    Topics learn by themselves: a relevant one until its score is 1, the others until it is -1. A
    topic is scored by its weights and by a prior of its own, what it has whatever the words say.
    It takes twice the memory of `mmp`.
    """

    norm = "l2"
    summary = "classifiers that know how sure they are of a weight (Crammer, Kulesza & Dredze 2009)"
    options = (
        Option("rho", 1.0, "the larger, the less a single document teaches", least=1e-6),
        Option(
            "positive", 10.0, "how much more than to others a document teaches to its own topics",
            least=1e-6,
        ),
        Option("bias", 0.2, "what a document is worth to the priors of topics; 0: none", least=0),
    )  # fmt: skip

    def __init__(self, rho: float = 1.0, positive: float = 10.0, bias: float = 0.2) -> None:
        self.rho = rho
        self.positive = positive
        self.bias = bias
        self._weights = Growing(2)
        self._variances = Growing(2)
        self._prior = Growing(1)
        self._prior_variances = Growing(1)

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        for array in (self._weights, self._variances):
            array.grow(segment.terms, segment.topics)
        for array in (self._prior, self._prior_variances):
            array.grow(segment.topics)
        rows, steps = segment.rows, segment.steps
        follow_arow(
            rows.starts, rows.terms, rows.values,
            steps.row, steps.learn, steps.known, steps.label_starts, steps.labels,
            self.rho, self.positive, self.bias, self._weights.room, self._variances.room,
            self._prior.room, self._prior_variances.room, out,
        )  # fmt: skip

    def forget(self, keep: Longs) -> None:
        """Drop the weights of terms that left the vocabulary; one that comes back starts anew."""
        self._weights.keep(keep)
        self._variances.keep(keep)

    def state(self) -> State:
        """The weights and priors with their variances."""
        return {
            "weights": self._weights.copy(),
            "variances": self._variances.copy(),
            "prior": self._prior.copy(),
            "prior_variances": self._prior_variances.copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self._weights.load(state["weights"])
        self._variances.load(state["variances"])
        self._prior.load(state["prior"])
        self._prior_variances.load(state["prior_variances"])

    def weights_of(self, terms: Ints, topics: Longs) -> Floats:
        """The weights of terms; the prior of a topic is in its score as well."""
        weights: Floats = self._weights.room[np.ix_(terms, topics)]
        return weights

    def size_bytes(self) -> int:
        """Memory of the weights and their variances."""
        arrays = (self._weights, self._variances, self._prior, self._prior_variances)
        return sum(array.nbytes for array in arrays)
