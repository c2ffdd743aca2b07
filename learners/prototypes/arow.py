"""AROW: linear classifiers that keep a variance for every weight.

Crammer, Kulesza and Dredze, "Adaptive regularization of weight vectors" (NIPS 2009).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import check_between, check_extent, floats
from learners.growing_array import GrowingArray
from learners.jit import njit
from learners.learner import State, TopicAxis
from learners.options import Option
from learners.prototypes.kernel import score_row
from learners.scores import DenseScores, RowScores
from learners.segment import Rows, Segment, Steps, labels_of, row_of
from learners.threads import columns_from, in_slices
from learners.topic_learner import TopicLearner

EFFORT = 4  # per topic and term, compared with a perceptron: for `learners.threads`


class ArowOptions(NamedTuple):
    """The options of AROW."""

    rho: float
    positive: float
    bias: float


class ArowModel(NamedTuple):
    """Weights and priors with their variances.

    A variance is kept as 0 until something is learned, so that room may grow by zeros; see
    `variance_of`.
    """

    weights: Floats  # terms x topics
    variances: Floats  # terms x topics
    prior: Floats  # of each topic
    prior_variances: Floats

    def columns_from(self, first: int) -> ArowModel:
        """The part of the topics from `first` on; see `learners.threads`."""
        if first == 0:
            return self
        return ArowModel(
            columns_from(self.weights, first),
            columns_from(self.variances, first),
            self.prior[first:],
            self.prior_variances[first:],
        )


class ArowWorkspace(NamedTuple):
    """Room for the numbers of one document, one per topic."""

    scores: Floats
    spread: Floats  # how unsure each topic is of the document
    noise: Floats  # rho, or less for a relevant topic
    moves: Floats  # how far each topic moves; 0 if it stays


@njit
def variance_of(kept: float) -> float:
    """A variance as it is kept: 0 stands for 1, the variance before anything is learned."""
    return kept if kept > 0.0 else 1.0


@njit
def spread_of(
    terms: Ints, values: Floats, bias: float, model: ArowModel, known: int, spread: Floats
) -> None:
    """Write how unsure each topic is of the document, `x^T V_r x`, to `spread`."""
    variances, prior_variances = model.variances, model.prior_variances
    spread[:known] = 0.0
    for i in range(len(terms)):
        value, variance = values[i], variances[terms[i]]
        for r in range(known):
            spread[r] += value * variance_of(variance[r]) * value
    for r in range(known):
        spread[r] += bias * variance_of(prior_variances[r]) * bias


@njit
def learn_row(
    terms: Ints, values: Floats, bias: float, known: int, work: ArowWorkspace, model: ArowModel
) -> None:
    """Move the topics along the document, each weight by its variance.

    The factor of a variance is a quotient of two positive numbers, so that no rounding brings a
    variance down to 0.
    """
    noise, moves, spread = work.noise, work.moves, work.spread
    weights, variances = model.weights, model.variances
    prior, prior_variances = model.prior, model.prior_variances
    moving = np.flatnonzero(moves[:known])
    for i in range(len(terms)):
        value, weight, variance = values[i], weights[terms[i]], variances[terms[i]]
        for r in moving:
            sure = variance_of(variance[r])
            part = value * sure
            weight[r] += moves[r] * part
            rest = (spread[r] - part * value) + noise[r]
            variance[r] = sure * (rest / (spread[r] + noise[r]))
    for r in moving:
        sure = variance_of(prior_variances[r])
        part = bias * sure
        prior[r] += moves[r] * part
        rest = (spread[r] - part * bias) + noise[r]
        prior_variances[r] = sure * (rest / (spread[r] + noise[r]))


@njit
def find_moves(relevant: Ints, known: int, options: ArowOptions, work: ArowWorkspace) -> None:
    """Write how far each topic moves: by the hinge, up to a score of 1, or of -1 if irrelevant."""
    scores, spread, noise, moves = work.scores, work.spread, work.noise, work.moves
    rho, positive = options.rho, options.positive
    for r in range(known):
        noise[r] = rho
        moves[r] = -(1.0 + scores[r]) / (spread[r] + rho) if scores[r] > -1.0 else 0.0
    for r in relevant:
        noise[r] = rho / positive
        short = scores[r] < 1.0
        moves[r] = (1.0 - scores[r]) / (spread[r] + noise[r]) if short else 0.0


@njit
def follow_arow(
    rows: Rows, steps: Steps, options: ArowOptions, model: ArowModel, out: Floats
) -> None:
    """Take the steps in order."""
    starts, all_terms, all_values = rows
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels = steps.label_starts, steps.labels
    topics, bias = model.weights.shape[1], options.bias
    work = ArowWorkspace(np.zeros(topics), np.zeros(topics), np.zeros(topics), np.zeros(topics))
    scores, prior = work.scores, model.prior
    for step in range(len(step_row)):
        row, known = int(step_row[step]), int(step_known[step])
        terms, values = row_of(starts, all_terms, all_values, row)
        score_row(terms, values, model.weights, known, scores)
        for r in range(known):
            scores[r] += bias * prior[r]
        if not step_learn[step]:
            out[row, :known] = scores[:known]
            continue
        spread_of(terms, values, bias, model, known, work.spread)
        find_moves(labels_of(label_starts, labels, step), known, options, work)
        learn_row(terms, values, bias, known, work, model)


class AROW(TopicLearner):
    """One linear classifier per topic, with a variance for each of its weights.

    Adaptive regularisation of weights with a diagonal covariance V_r. A topic is scored by
    `w_r . x` plus `bias` times its prior, which it has whatever the words are. With t_r = 1 for a
    relevant topic and -1 for any other, s_r = `x^T V_r x`, and the noise rho (`rho / positive` if
    r is relevant), a topic whose t_r times score is below 1 moves by

        w_r += (t_r - score_r) / (s_r + noise) V_r x
        V_r *= 1 - V_r x^2 / (s_r + noise)

    Variances are 1 at first and shrink with every document that a topic learns from. So rare words
    still move far when they come, long after common words have settled. One pass over a stream is
    then worth about as much as many passes of a batch learner. It takes twice the memory of `mmp`.

    Crammer, Kulesza and Dredze, "Adaptive regularization of weight vectors" (NIPS 2009).

    Examples
    --------
    >>> from learners import AROW
    >>> model = AROW(bias=0.0).declare_topics(["grain", "ship"])
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> model.rank_one({"wheat": 1.0})  # 1 / 1.1 and -1 / 2
    [('grain', 0.909), ('ship', -0.5)]

    """

    independent_topics = True
    unshardable = ""
    norm = "l2"
    summary = "classifiers with a confidence for each weight (Crammer, Kulesza & Dredze 2009)"
    options: ClassVar[tuple[Option, ...]] = (
        Option("rho", 1.0, "the larger, the less a single document teaches", least=1e-6),
        Option(
            "positive", 10.0, "how many times more a document teaches its own topics than others",
            least=1e-6,
        ),
        Option("bias", 0.2, "weight of the prior of each topic; 0: no priors", least=0),
    )  # fmt: skip

    def __init__(self, rho: float = 1.0, positive: float = 10.0, bias: float = 0.2) -> None:
        self.rho = rho
        self.positive = positive
        self.bias = bias
        self._weights = GrowingArray(2)
        self._variances = GrowingArray(2)
        self._prior = GrowingArray(1)
        self._prior_variances = GrowingArray(1)

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        options = ArowOptions(self.rho, self.positive, self.bias)
        model = self._grown(segment)

        def bind(steps: Steps, first: int) -> Callable[[], None]:
            return partial(
                follow_arow,
                segment.rows, steps, options, model.columns_from(first), columns_from(out, first),
            )  # fmt: skip

        in_slices(segment, self.threads, bind, EFFORT)

    def _grown(self, segment: Segment) -> ArowModel:
        for array in (self._weights, self._variances):
            array.grow(segment.terms, segment.topics)
        for array in (self._prior, self._prior_variances):
            array.grow(segment.topics)
        return ArowModel(
            self._weights.room, self._variances.room, self._prior.room, self._prior_variances.room
        )

    @property
    def topic_axes(self) -> dict[str, TopicAxis]:
        """The weights and priors with their variances."""
        return {
            "weights": TopicAxis(1),
            "variances": TopicAxis(1),
            "prior": TopicAxis(0),
            "prior_variances": TopicAxis(0),
        }

    def forget(self, keep: Longs) -> None:
        """Drop the weights of terms that left the vocabulary; a term that returns starts over."""
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
        """Go on from a state that `state` returned."""
        weights = floats(state, "weights", None, None)
        topics = weights.shape[1]
        variances = floats(state, "variances", *weights.shape)
        prior, prior_variances = (
            floats(state, name, topics) for name in ("prior", "prior_variances")
        )
        check_between("variances", variances, 0.0, 1.0)
        check_between("prior_variances", prior_variances, 0.0, 1.0)
        self._weights.load(weights)
        self._variances.load(variances)
        self._prior.load(prior)
        self._prior_variances.load(prior_variances)

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """The weights have no more terms and topics than the stream."""
        check_extent("weights", self._weights.shape[0], terms, "terms")
        check_extent("weights", self._weights.shape[1], topics, "topics")

    @property
    def weight_shape(self) -> tuple[int, int]:
        """The terms and topics of the weights."""
        return self._weights.shape[0], self._weights.shape[1]

    def biases(self, columns: int) -> Floats:
        """The priors of the topics, times `bias`."""
        biases = np.zeros(columns)
        prior = self._prior.view[:columns]
        biases[: len(prior)] = self.bias * prior
        return biases

    def weights_of(self, terms: Ints, topics: Longs) -> Floats:
        """The weights of terms; a score also has the prior of its topic in it."""
        weights: Floats = self._weights.room[np.ix_(terms, topics)]
        return weights

    def size_bytes(self) -> int:
        """Memory of the weights and their variances."""
        arrays = (self._weights, self._variances, self._prior, self._prior_variances)
        return sum(array.nbytes for array in arrays)
