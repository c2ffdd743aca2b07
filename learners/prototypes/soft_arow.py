"""AROW with a smooth hinge and a noise that adapts by itself.

It starts from Crammer, Kulesza and Dredze, "Adaptive regularization of weight vectors" (NIPS 2009).
What differs, and why, is in decision 51.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints
from learners.checks import InvalidArrayError, check_between, floats
from learners.growing_array import GrowingArray
from learners.jit import njit
from learners.learner import State, TopicAxis
from learners.options import Option
from learners.prototypes.arow import AROW, EFFORT, ArowModel, spread_of, variance_of
from learners.prototypes.kernel import score_row
from learners.scores import DenseScores, RowScores
from learners.segment import Rows, Segment, Steps, labels_of, row_of
from learners.threads import columns_from, in_slices

FAMILIAR = 3.0  # noise of a document whose terms are all well known, in units of rho
NOVEL = 2.7  # how much less it is if all terms are new
LASTING = 0.2  # share of `positive` that is left for topics with many documents
FAR = 1e100  # gaps beyond it: the root of their squares is their size, and could overflow


class SoftArowOptions(NamedTuple):
    """The options of AROW with a smooth hinge."""

    rho: float
    positive: float
    bias: float
    smooth: float


class SoftArowWorkspace(NamedTuple):
    """Room for the numbers of one document, one per topic."""

    scores: Floats
    spread: Floats  # how unsure each topic is of the document
    noise: Floats
    moves: Floats  # how far each topic moves
    shrink: Floats  # 1 / (spread + noise)


@njit
def squared_length(values: Floats) -> float:
    """The spread by the terms of a document before anything is learned: all variances are 1."""
    square = 0.0
    for value in values:
        square += value * value
    return square


@njit
def shortfall(gap: float, smooth: float) -> float:
    """How far a topic is from its target: a smooth version of max(gap, 0)."""
    if abs(gap) > FAR:
        return max(gap, 0.0)
    return 0.5 * (gap + math.sqrt(gap * gap + 4.0 * (smooth * smooth)))


@njit
def find_soft_moves(
    relevant: Ints, known: int, square: float, options: SoftArowOptions,
    work: SoftArowWorkspace, prior_variances: Floats, seen: Floats,
) -> None:  # fmt: skip
    """Count the relevant topics, and write noise, moves and `shrink` of each topic."""
    scores, spread, noise = work.scores, work.spread, work.noise
    moves, shrink = work.moves, work.shrink
    rho, positive, bias, smooth = options.rho, options.positive, options.bias, options.smooth
    square = square if square > 0.0 else 1.0  # no terms: their spread is 0
    for r in range(known):
        by_terms = spread[r] - bias * variance_of(prior_variances[r]) * bias
        noise[r] = rho * (FAMILIAR - NOVEL * min(1.0, by_terms / square))
        shrink[r] = 1.0 / (spread[r] + noise[r])
        moves[r] = -(shortfall(1.0 + scores[r], smooth) * shrink[r])
    for r in relevant:
        seen[r] += 1.0
        noise[r] /= positive * (LASTING + (1.0 - LASTING) / math.sqrt(seen[r]))
        shrink[r] = 1.0 / (spread[r] + noise[r])
        moves[r] = shortfall(1.0 - scores[r], smooth) * shrink[r]


@njit
def learn_soft_row(
    terms: Ints, values: Floats, bias: float, known: int, work: SoftArowWorkspace, model: ArowModel
) -> None:
    """Move all topics along the document, each weight by its variance, and reduce the variances.

    The factor of a variance is a product of two positive numbers, and at most 1. So no rounding
    brings a variance down to 0 or above 1.
    """
    noise, moves, spread, shrink = work.noise, work.moves, work.spread, work.shrink
    weights, variances = model.weights, model.variances
    prior, prior_variances = model.prior, model.prior_variances
    for i in range(len(terms)):
        value, weight, variance = values[i], weights[terms[i]], variances[terms[i]]
        for r in range(known):
            sure = variance_of(variance[r])
            part = value * sure
            weight[r] += moves[r] * part
            variance[r] = sure * (((spread[r] - part * value) + noise[r]) * shrink[r])
    for r in range(known):
        sure = variance_of(prior_variances[r])
        part = bias * sure
        prior[r] += moves[r] * part
        prior_variances[r] = sure * (((spread[r] - part * bias) + noise[r]) * shrink[r])


@njit
def follow_soft_arow(
    rows: Rows, steps: Steps, options: SoftArowOptions, model: ArowModel, seen: Floats, out: Floats
) -> None:
    """Take the steps in order."""
    starts, all_terms, all_values = rows
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels = steps.label_starts, steps.labels
    topics, bias = model.weights.shape[1], options.bias
    work = SoftArowWorkspace(
        np.zeros(topics), np.zeros(topics), np.zeros(topics), np.zeros(topics), np.zeros(topics)
    )
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
        relevant = labels_of(label_starts, labels, step)
        square = squared_length(values)
        find_soft_moves(relevant, known, square, options, work, model.prior_variances, seen)
        learn_soft_row(terms, values, bias, known, work, model)


class SoftAROW(AROW):
    """AROW with a smooth hinge and a noise that adapts by itself.

    A topic is scored as in `AROW`, by `w_r . x` plus `bias` times its prior. With t_r = 1 for a
    relevant topic and -1 for any other, s_r = `x^T V_r x`, and u_r the part of s_r that comes from
    words, over what it was before anything was learned, every topic moves with every document by

        gap     = 1 - t_r score_r
        short   = (gap + sqrt(gap^2 + 4 smooth^2)) / 2
        noise_r = rho (3 - 2.7 u_r), for a relevant topic over positive (0.2 + 0.8 / sqrt(n_r))
        w_r    += t_r short / (s_r + noise_r) V_r x
        V_r    *= 1 - V_r x^2 / (s_r + noise_r)

    n_r is the number of documents of the topic so far, including this one. There are three
    differences to `AROW`. Documents that are ranked well also make the weights of their words
    certain. A document of new words teaches more than one of familiar words. And the extra weight
    of a relevant topic falls as its documents become many. This ranks better where documents have
    many topics or Boolean features, and no worse elsewhere, without settings to tune.

    It starts from Crammer, Kulesza and Dredze, "Adaptive regularization of weight vectors" (NIPS
    2009).

    Examples
    --------
    >>> from learners import SoftAROW
    >>> model = SoftAROW().declare_topics(["grain", "ship"])
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> [topic for topic, score in model.rank_one({"wheat": 1.0})]
    ['grain', 'ship']

    """

    summary = "AROW with a smooth hinge and a noise that adapts by itself"
    options = (
        Option("rho", 1.0, "the larger, the less a single document teaches", least=1e-6, most=1e6),
        Option(
            "positive", 10.0,
            "how many times more the first document of a topic teaches it; falls to a fifth of it",
            least=1e-6, most=1e6,
        ),
        Option("bias", 0.35, "weight of the prior of each topic; 0: no priors", least=0, most=1e6),
        Option("smooth", 0.03, "how smooth the hinge is; 0: it has a corner", least=0, most=1e6),
    )  # fmt: skip

    def __init__(
        self, rho: float = 1.0, positive: float = 10.0, bias: float = 0.35, smooth: float = 0.03
    ) -> None:
        super().__init__(rho, positive, bias)
        self.smooth = smooth
        self._seen = GrowingArray(1)

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        model = self._grown(segment)
        self._seen.grow(segment.topics)
        options = SoftArowOptions(self.rho, self.positive, self.bias, self.smooth)

        def bind(steps: Steps, first: int) -> Callable[[], None]:
            return partial(
                follow_soft_arow,
                segment.rows, steps, options, model.columns_from(first), self._seen.room[first:],
                columns_from(out, first),
            )  # fmt: skip

        in_slices(segment, self.threads, bind, EFFORT)

    @property
    def topic_axes(self) -> dict[str, TopicAxis]:
        """As `AROW`, and the documents of each topic."""
        return {**super().topic_axes, "seen": TopicAxis(0)}

    def state(self) -> State:
        """The weights and priors with their variances, and the documents of each topic."""
        return {**super().state(), "seen": self._seen.copy()}

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` returned."""
        topics = floats(state, "weights", None, None).shape[1]
        seen = floats(state, "seen", topics)
        check_between("seen", seen, 0.0)
        if not np.array_equal(seen, np.floor(seen)):
            raise InvalidArrayError("array seen has fractions, expected whole numbers")
        super().restore(state)
        self._seen.load(seen)

    def size_bytes(self) -> int:
        """Memory of the weights, their variances and the counts."""
        return super().size_bytes() + self._seen.nbytes

    def max_bytes(self, terms: int, topics: int) -> int:
        """The most that `size_bytes` can be: as `AROW`, and one count per topic."""
        return super().max_bytes(terms, topics) + 8 * (topics + 1)
