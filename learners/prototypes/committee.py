"""A committee of perceptrons: several per topic, which differ by their random starts.

The strong baseline of Madani, Connor and Greiner (2010, section 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import InvalidArrayError, check_extent, count_of, floats
from learners.growing_array import GrowingArray
from learners.jit import njit
from learners.learner import State, TopicAxis
from learners.options import Option
from learners.prototypes.kernel import score_row
from learners.prototypes.perceptron import perceptron_coefficients
from learners.scores import DenseScores, RowScores
from learners.segment import Rows, Segment, Steps, labels_of, row_of
from learners.splitmix import mix
from learners.topic_learner import TopicLearner

SPARE_BITS = np.uint64(12)
STEP = 2.0**-52


class CommitteeOptions(NamedTuple):
    """The options of the committee."""

    size: int  # perceptrons per topic
    seed: int
    first: int  # topic i is topic first + i * step of the lane: see `number_topics`
    step: int


@njit
def random_start(document: np.uint64, place: int, perceptron: int) -> float:
    """A start in (-1, 1): an odd multiple of `STEP`, so that it is never 0.

    It depends on the document, by a random number, on the place of the term in it, and on the
    perceptron. It does not depend on what others draw, so shards and threads draw alike.
    """
    bits = mix(mix(document + np.uint64(place)) + np.uint64(perceptron))
    return (2 * np.int64(bits >> SPARE_BITS) + 1) * STEP - 1.0


@njit
def mean_scores(current: Floats, known: int, size: int, scores: Floats) -> None:
    """Write the mean score of the perceptrons of each topic to `scores`."""
    for r in range(known):
        total = 0.0
        for member in range(r * size, (r + 1) * size):
            total += current[member]
        scores[r] = total / size


@njit
def move(
    terms: Ints, values: Floats, tau: Floats, perceptrons: int, options: CommitteeOptions,
    rounds: int, weights: Floats,
) -> None:  # fmt: skip
    """Add `x tau^T`, to a random start where a weight is 0."""
    size = options.size
    document = mix(mix(np.uint64(options.seed)) + np.uint64(rounds))
    moving = np.flatnonzero(tau[:perceptrons])
    for i in range(len(terms)):
        value, weight = values[i], weights[terms[i]]
        if value == 0.0:
            continue  # not a term of the document, so no weight starts
        for p in moving:
            if weight[p] == 0.0:
                topic = options.first + int(p // size) * options.step
                weight[p] = random_start(document, i, topic * size + int(p % size))
            weight[p] += value * tau[p]


@njit
def follow_committee(
    rows: Rows, steps: Steps, options: CommitteeOptions, rounds: int, weights: Floats, out: Floats
) -> int:
    """Take the steps in order; return the number of rounds learned so far."""
    starts, all_terms, all_values = rows
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels = steps.label_starts, steps.labels
    size = options.size
    current = np.zeros(weights.shape[1])
    tau = np.zeros(weights.shape[1])
    scored = -1  # the row that `current` belongs to, if nothing was learned since
    for step in range(len(step_row)):
        row, known = int(step_row[step]), int(step_known[step])
        terms, values = row_of(starts, all_terms, all_values, row)
        # Topics that this document is the first to carry have no weights yet, so they score 0.
        if scored != row or not step_learn[step]:
            score_row(terms, values, weights, known * size, current)
            scored = row
        if not step_learn[step]:
            mean_scores(current, known, size, out[row])
            continue
        relevant = labels_of(label_starts, labels, step)
        members = np.empty(len(relevant) * size, np.int32)
        for i in range(len(members)):
            members[i] = relevant[i // size] * size + i % size
        if perceptron_coefficients(current, known * size, members, 0.0, tau):
            move(terms, values, tau, known * size, options, rounds, weights)
        rounds += 1
        scored = -1
    return rounds


class Committee(TopicLearner):
    """Several perceptrons per topic with random starts; the score of a topic is their mean score.

    Every member m learns by itself, by the rule of `Perceptron` with margin 0: with t_r = +1 for a
    relevant topic and -1 for any other,

        w_rm += t_r x    if t_r (w_rm . x) <= 0

    whatever the other members do. They differ by their starts. A weight of exactly 0 has not
    started: it takes a random number in (-1, 1) when its perceptron first moves along its term. The
    number depends only on the seed, the round, the place of the term in the document, and the
    perceptron.

    The strong baseline of Madani, Connor and Greiner (2010, section 5).

    Examples
    --------
    >>> from learners import Committee
    >>> model = Committee(size=3).declare_topics(["grain", "ship"])
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> scores = dict(model.rank_one({"wheat": 1.0}))
    >>> scores["grain"] > 0 > scores["ship"]
    True

    """

    independent_topics = True
    unshardable = ""
    norm = "l2"
    summary = "several perceptrons per topic with random starts (Madani, Connor & Greiner 2010)"
    options = (
        Option("size", 10, "number of perceptrons per topic", least=1, most=100),
        Option("seed", 0, "seed of the random starts", least=0),
    )

    def __init__(self, size: int = 10, seed: int = 0) -> None:
        self.size = size
        self.seed = seed
        self.rounds = 0
        self._numbering = (0, 1)
        # Terms x perceptrons. Those of one topic are side by side, so that new topics are appended.
        self._weights = GrowingArray(2)

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        self._weights.grow(segment.terms, segment.topics * self.size)
        options = CommitteeOptions(self.size, self.seed, *self._numbering)
        self.rounds = follow_committee(
            segment.rows, segment.steps, options, self.rounds, self._weights.room, out
        )

    @property
    def topic_axes(self) -> dict[str, TopicAxis]:
        """The weights, those of one topic side by side."""
        return {"weights": TopicAxis(1, self.size)}

    def number_topics(self, first: int, step: int) -> None:
        """See `Learner.number_topics`: random starts depend on the topic."""
        self._numbering = (first, step)

    def forget(self, keep: Longs) -> None:
        """Drop the weights of terms that left the vocabulary; a term that returns starts over."""
        self._weights.keep(keep)

    def state(self) -> State:
        """The weights and the round."""
        return {"rounds": np.array(self.rounds), "weights": self._weights.copy()}

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` returned."""
        # Older versions counted the random numbers, so theirs go on from another place.
        count = "rounds" if "rounds" in state else "drawn"
        rounds, weights = count_of(state, count), floats(state, "weights", None, None)
        if weights.shape[1] % self.size:
            raise InvalidArrayError(
                f"array weights has {weights.shape[1]} columns, expected {self.size} per topic"
            )
        self._weights.load(weights)
        self.rounds = rounds

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """The weights have no more terms and topics than the stream."""
        check_extent("weights", self._weights.shape[0], terms, "terms")
        check_extent("weights", self._weights.shape[1] // self.size, topics, "topics")

    @property
    def weight_shape(self) -> tuple[int, int]:
        """The terms of the weights, and the topics: those of one topic have one mean."""
        return self._weights.shape[0], self._weights.shape[1] // self.size

    def weights_of(self, terms: Ints, topics: Longs) -> Floats:
        """The mean weights of the members, which score as the committee does."""
        members = topics[:, None] * self.size + np.arange(self.size)
        weights: Floats = self._weights.room[np.asarray(terms)[:, None, None], members]
        mean: Floats = weights.mean(axis=2)
        return mean

    def size_bytes(self) -> int:
        """Memory of the weights."""
        return self._weights.nbytes

    def max_bytes(self, terms: int, topics: int) -> int:
        """One number per term and perceptron."""
        return 8 * terms * topics * self.size
