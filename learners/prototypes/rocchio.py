"""Rocchio's prototypes: the mean of a topic's documents minus a share of the mean of the others.

Ittner, Lewis and Ahn, "Text categorization of low quality images" (SDAIR 1995): the batch learner
that Crammer and Singer (2002) compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import check_between, check_extent, count_of, floats
from learners.growing_array import GrowingArray
from learners.jit import njit
from learners.learner import State, TopicAxis
from learners.options import Option
from learners.prototypes.kernel import score_row
from learners.scores import DenseScores, RowScores
from learners.segment import Rows, Segment, Steps, labels_of, row_of
from learners.threads import columns_from, in_slices, run_together, slices_of
from learners.topic_learner import TopicLearner

BETA = 16.0
GAMMA = 4.0


class RocchioModel(NamedTuple):
    """The running sums and the prototypes, with room to grow."""

    sums: Floats  # terms x topics: the sum of the documents of each topic
    total: Floats  # of each term: the sum of all documents
    carriers: Floats  # of each topic: how many documents carry it
    weights: Floats  # terms x topics: the prototypes as last made

    def columns_from(self, first: int) -> RocchioModel:
        """The part of the topics from `first` on; see `learners.threads`.

        Every step adds to the sum of all documents, so all slices but the first have a copy of it.
        """
        if first == 0:
            return self
        return RocchioModel(
            columns_from(self.sums, first),
            self.total.copy(),
            self.carriers[first:],
            columns_from(self.weights, first),
        )


@njit
def make_prototypes(
    sums: Floats, total: Floats, carriers: Floats, rounds: int, weights: Floats
) -> None:
    """Fill `weights` (terms x topics) with prototypes of length one, made from the sums so far.

    A topic that no document carries keeps a zero prototype. If every document carries a topic,
    there are no others, and nothing is subtracted.
    """
    terms, topics = weights.shape
    squares = np.zeros(topics)
    for f in range(terms):
        for r in range(topics):
            weight = 0.0
            if carriers[r] > 0.0:
                weight = BETA * (sums[f, r] / carriers[r])
                if carriers[r] < rounds:
                    weight -= GAMMA * ((total[f] - sums[f, r]) / (rounds - carriers[r]))
            weights[f, r] = max(0.0, weight)
            squares[r] += weights[f, r] * weights[f, r]
    norms = np.sqrt(squares)
    for f in range(terms):
        for r in range(topics):
            if norms[r] > 0.0:
                weights[f, r] /= norms[r]


@njit
def follow_rocchio(
    rows: Rows, steps: Steps, refresh: int, rounds: int, used: int, model: RocchioModel, out: Floats
) -> int:
    """Take the steps in order; return the number of rounds learned so far.

    `used` is the number of terms in use, for which prototypes are made.
    """
    starts, all_terms, all_values = rows
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels = steps.label_starts, steps.labels
    sums, total, carriers, weights = model.sums, model.total, model.carriers, model.weights
    for step in range(len(step_row)):
        row, known = step_row[step], step_known[step]
        terms, values = row_of(starts, all_terms, all_values, row)
        if not step_learn[step]:
            score_row(terms, values, weights, known, out[row])
            continue
        relevant = labels_of(label_starts, labels, step)
        for r in relevant:
            carriers[r] += 1.0
        for i in range(len(terms)):
            total[terms[i]] += values[i]
            for r in relevant:
                sums[terms[i], r] += values[i]
        rounds += 1
        if refresh > 0 and rounds % refresh == 0:
            make_prototypes(sums[:used, :known], total, carriers, rounds, weights[:used, :known])
    return rounds


class Rocchio(TopicLearner):
    """Rocchio on a stream: running sums, and prototypes made from them every `refresh` rounds.

    With mean_r the mean of the documents of topic r, and other_r the mean of all other documents,

        w_r = max(0, 16 mean_r - 4 other_r), scaled to length one

    With `refresh=0` the prototypes are made only by `make`, which is the batch learner.

    Ittner, Lewis and Ahn, "Text categorization of low quality images" (SDAIR 1995): the batch
    learner that Crammer and Singer (2002) compare with.

    Examples
    --------
    >>> from learners import Rocchio
    >>> model = Rocchio(refresh=2).declare_topics(["grain", "ship"])
    >>> model.learn_one({"wheat": 1.0}, ["grain"])
    >>> model.learn_one({"port": 1.0}, ["ship"])
    >>> model.rank_one({"wheat": 2.0, "port": 1.0})
    [('grain', 2.0), ('ship', 1.0)]

    """

    independent_topics = True
    unshardable = ""
    summary = "Rocchio's prototypes, a batch learner that is trained again every few rounds"
    options = (Option("refresh", 1000, "rounds after which prototypes are made again", least=1),)

    def __init__(self, refresh: int = 1000) -> None:
        self.refresh = refresh
        self.rounds = 0
        self._sums = GrowingArray(2)
        self._weights = GrowingArray(2)
        self._total = GrowingArray(1)
        self._carriers = GrowingArray(1)

    @property
    def weights(self) -> Floats:
        """The prototypes as last made, terms x topics."""
        return self._weights.view

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        self._sums.grow(segment.terms, segment.topics)
        self._weights.grow(segment.terms, segment.topics)
        self._total.grow(segment.terms)
        self._carriers.grow(segment.topics)
        model = RocchioModel(
            self._sums.room, self._total.room, self._carriers.room, self._weights.room
        )

        def bind(steps: Steps, first: int) -> Callable[[], int]:
            return partial(
                follow_rocchio,
                segment.rows, steps, self.refresh, self.rounds, self._sums.shape[0],
                model.columns_from(first), columns_from(out, first),
            )  # fmt: skip

        self.rounds = in_slices(segment, self.threads, bind)

    def make(self) -> None:
        """Make the prototypes from the sums as they stand now."""
        sums, weights = self._sums.view, self._weights.view
        total, carriers = self._total.view, self._carriers.view
        terms, topics = weights.shape
        kernels = [
            partial(
                make_prototypes,
                sums[:, first:last], total, carriers[first:last], self.rounds,
                weights[:, first:last],
            )
            for first, last in slices_of(topics, terms * topics, self.threads)
        ]  # fmt: skip
        run_together(kernels, lambda: None)

    @property
    def topic_axes(self) -> dict[str, TopicAxis]:
        """The sums, the prototypes, and how many documents carry a topic."""
        return {"sums": TopicAxis(1), "weights": TopicAxis(1), "carriers": TopicAxis(0)}

    def forget(self, keep: Longs) -> None:
        """Drop the rows of terms that left the vocabulary."""
        for array in (self._sums, self._weights, self._total):
            array.keep(keep)

    def state(self) -> State:
        """The sums, the prototypes as last made, and the round."""
        return {
            "rounds": np.array(self.rounds),
            "sums": self._sums.copy(),
            "weights": self._weights.copy(),
            "total": self._total.copy(),
            "carriers": self._carriers.copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` returned."""
        rounds, sums = count_of(state, "rounds"), floats(state, "sums", None, None)
        weights = floats(state, "weights", *sums.shape)
        total = floats(state, "total", sums.shape[0])
        carriers = floats(state, "carriers", sums.shape[1])
        check_between("carriers", carriers, 0.0, rounds)
        self.rounds = rounds
        self._sums.load(sums)
        self._weights.load(weights)
        self._total.load(total)
        self._carriers.load(carriers)

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """The sums have no more terms and topics than the stream."""
        check_extent("sums", self._sums.shape[0], terms, "terms")
        check_extent("sums", self._sums.shape[1], topics, "topics")

    @property
    def weight_shape(self) -> tuple[int, int]:
        """The terms and topics of the prototypes."""
        return self._weights.shape[0], self._weights.shape[1]

    def weights_of(self, terms: Ints, topics: Longs) -> Floats:
        """The prototypes as last made."""
        weights: Floats = self._weights.room[np.ix_(terms, topics)]
        return weights

    def size_bytes(self) -> int:
        """Memory of the sums and prototypes."""
        arrays = (self._sums, self._weights, self._total, self._carriers)
        return sum(array.nbytes for array in arrays)


def select_terms(prototypes: Floats, share: float = 0.025, at_least: int = 100) -> Longs:
    """The terms that Rocchio's prototypes select (Crammer & Singer 2002, sec. 4.4), ascending.

    For each topic, the terms of positive weight are sorted by weight, heaviest first and the
    earlier term first if equal. The first `share` of them is selected, but `at_least` this many.
    The result is the union over all topics.
    """
    chosen = np.zeros(len(prototypes), dtype=np.bool_)
    for weights in prototypes.T:
        order = np.argsort(-weights, kind="stable")[: np.count_nonzero(weights > 0)]
        chosen[order[: max(at_least, int(share * len(order)))]] = True
    return np.flatnonzero(chosen)
