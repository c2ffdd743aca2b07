"""What the ordinal learners share: a document has one rank in 1..k, and ranks are in order.

They keep one or k columns of weights (one vector, or one prototype per rank), and score a document
by inner product or by a kernel. An update adds a multiple of the document to every column. They
differ by how they derive a rank from the scores and by their update rule. Both are next to their
classes in `prank.py`, `widrow_hoff.py` and `multiclass_perceptron.py`.

Of a segment they use the steps with exactly one label, which is the rank minus one. A step without
a label, or with a label past the last rank of the lane, is no round and changes nothing. `known` is
not used: all ranks exist from the beginning.

Choices where the papers say nothing:

- Everything starts from zero, thresholds too. So the first prediction of PRank is rank k, of
  Widrow-Hoff rank 1 (0, clipped) and of the multiclass perceptron rank 1 (all scores are equal).
- A score that equals a threshold is above it.
- There is no constant feature. If you need one, put it into the documents, or use poly2, which has
  one.
- With `average`, vectors and thresholds are means over the rounds so far. Means of ordered
  thresholds are ordered.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import check_extent, check_order, count_of, floats
from learners.growing_array import GrowingArray
from learners.learner import State
from learners.options import Option
from learners.ordinal.kernel import OrdinalModel, OrdinalOptions
from learners.prototypes.support_set import Supports, max_instance_bytes
from learners.rank_learner import RankLearner
from learners.scores import RankScores, RowScores
from learners.segment import Rows, Segment, Steps

RANKS = Option("ranks", 5, "number of ranks; 1 is the lowest", least=2, most=1000)
AVERAGE = Option("average", False, "rank by the mean of the models after each round so far")


class OrdinalLearner(RankLearner):
    """A learner of ranks; subclasses have the update rule.

    For each ranked row, `follow` writes the predicted rank to column `RANK` of its `RankScores`,
    and the score that the rank was derived from to column `SCORE` (with one prototype per rank: the
    largest score).
    """

    scores_class = RankScores
    unshardable = "a shard is a part of the topics, and this learner learns ranks."

    def __init__(
        self, ranks: int = 5, kernel: str = "linear", budget: int = 1000, average: bool = False
    ) -> None:
        self.ranks = int(RANKS.check(ranks, type(self).__name__))
        self.kernel = kernel
        self.budget = budget
        self.average = average
        self.rounds = 0
        directions = 1 if self.columns == 1 else 2
        self._weights = GrowingArray(directions)
        self._lagging = GrowingArray(directions)
        self._thresholds = np.zeros(self.threshold_count)
        self._passed = np.zeros_like(self._thresholds)  # the sum of the thresholds after each round
        self._supports = Supports(len(self._thresholds))

    @property
    @abstractmethod
    def columns(self) -> int:
        """How many vectors it keeps."""

    @property
    def threshold_count(self) -> int:
        """How many thresholds it keeps."""
        return 0

    @property
    def thresholds(self) -> Floats:
        """The thresholds between the ranks as they stand (a copy); empty if it has none."""
        return self._thresholds.copy()

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow` and the class."""
        out = RankScores.expect(scores, segment).matrix
        if self.kernel == "linear":
            shape = (segment.terms, self.columns)[: len(self._weights.shape)]
            self._weights.grow(*shape)
            if self.average:
                self._lagging.grow(*shape)
            self._take(segment, 0, out)
            return
        by_column = Segment(segment.rows, segment.steps, segment.terms, self.columns)
        for piece in self._supports.make_room_for(by_column):
            self._take(piece, self.budget, out)

    def _take(self, segment: Segment, budget: int, out: Floats) -> None:
        options = OrdinalOptions(self.ranks, self.columns, self.average, budget)
        model = OrdinalModel(
            in_columns(self._weights),
            in_columns(self._lagging),
            self._thresholds,
            self._passed,
            self._supports.arrays,
        )
        self.rounds = self._take_steps(segment.rows, segment.steps, options, model, out)

    @abstractmethod
    def _take_steps(
        self, rows: Rows, steps: Steps, options: OrdinalOptions, model: OrdinalModel, out: Floats
    ) -> int:
        """Run the kernel of the learner; return the number of rounds learned so far."""

    def forget(self, keep: Longs) -> None:
        """Drop the weights of terms that left the vocabulary, or the terms of the instances."""
        self._weights.keep(keep)
        self._lagging.keep(keep)
        if self.kernel != "linear":
            self._supports.forget(keep)

    def state(self) -> State:
        """The round, the thresholds, and the weights or the instances."""
        state: State = {"rounds": np.array(self.rounds), "thresholds": self._thresholds.copy()}
        if self.average:
            state["passed"] = self._passed.copy()
        if self.kernel != "linear":
            return {**state, **self._supports.state()}
        state["weights"] = self._weights.copy()
        if self.average:
            state["lagging"] = self._lagging.copy()
        return state

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` returned."""
        rounds = count_of(state, "rounds")
        thresholds = floats(state, "thresholds", self.threshold_count)
        check_order("thresholds", thresholds)
        if self.average:
            self._passed = floats(state, "passed", self.threshold_count).copy()
        if self.kernel != "linear":
            self._supports.restore(state, rounds, self.budget)
        else:
            shape = (None, self.columns)[: len(self._weights.shape)]
            weights = floats(state, "weights", *shape)
            if self.average:
                self._lagging.load(floats(state, "lagging", *weights.shape))
            self._weights.load(weights)
        self.rounds, self._thresholds = rounds, thresholds.copy()

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """The weights or instances have only terms of the stream."""
        check_extent("weights", self._weights.shape[0], terms, "terms")
        self._supports.check_references(terms, self.columns)

    @property
    def nonlinear(self) -> str:  # type: ignore[override]
        """Why no term explains a score; empty without a kernel."""
        if self.kernel == "linear":
            return ""
        return "with a kernel its scores are sums over instances, by products of two terms."

    @property
    def weight_shape(self) -> tuple[int, int]:
        """The terms of the weights, and one column or one per rank."""
        return self._weights.shape[0], self.columns

    @property
    def ranking_thresholds(self) -> Floats:
        """The thresholds that it ranks with: with `average`, their mean over all rounds."""
        if self.average and self.rounds > 0 and self.kernel == "linear":
            mean: Floats = self._passed / self.rounds
            return mean
        return self.thresholds

    def weights_of(self, terms: Ints, topics: Longs) -> Floats | None:
        """The weights of these terms for these ranks minus one; None with a kernel.

        A learner with one vector has the same weights for every rank.
        """
        if self.kernel != "linear":
            return None
        places = np.ix_(terms, topics if self.columns > 1 else np.zeros(len(topics), np.int64))
        weights: Floats = in_columns(self._weights)[places]
        if self.average and self.rounds > 0:
            lagging = in_columns(self._lagging)[places]
            weights = (self.rounds * weights - lagging) / self.rounds
        return weights

    def size_bytes(self) -> int:
        """Memory of the weights or instances, of the averaging sums and of the thresholds."""
        numbers = self._weights.nbytes + self._lagging.nbytes + self._supports.nbytes
        return numbers + self._thresholds.nbytes + self._passed.nbytes

    def max_bytes(self, terms: int, topics: int) -> int:
        """Weights and averaging sums per term, or a budget of instances. Topics do not matter."""
        thresholds = 2 * 8 * self.threshold_count
        if self.kernel == "linear":
            return thresholds + 2 * 8 * terms * self.columns
        return thresholds + max_instance_bytes(
            self.budget, terms, self.columns + self.threshold_count
        )


def in_columns(weights: GrowingArray) -> Floats:
    """The room of an array as a matrix; a vector is one column."""
    return weights.room.reshape(-1, 1) if weights.room.ndim == 1 else weights.room
