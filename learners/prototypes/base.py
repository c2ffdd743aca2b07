"""What the prototype learners share: one weight vector per topic, ranking by inner product.

They differ by their update rule, which turns the scores of a document into a coefficient tau_r for
each topic. Then every prototype moves by `tau_r x`. The rules are in `mmp.py` and `perceptron.py`,
next to their classes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import check_extent, count_of, floats
from learners.growing_array import GrowingArray
from learners.learner import State, TopicAxis
from learners.options import Option
from learners.prototypes.kernel import Prototypes
from learners.scores import DenseScores, RowScores
from learners.segment import Segment
from learners.topic_learner import TopicLearner
from learners.update_rule import UpdateRule

MARGIN = Option("margin", 0.0, "when learning, a lead of at most this much is an error", least=0)
AVERAGE = Option("average", False, "rank by the mean of the prototypes after each round so far")


class PrototypeLearner(TopicLearner):
    """A learner that keeps one prototype per topic; subclasses have the update rule."""

    rule: ClassVar[int]  # of `UpdateRule`
    unshardable = ""

    def __init__(self, loss: int = 1, margin: float = 0.0, average: bool = False) -> None:
        self.loss = loss
        self.margin = margin
        self.average = average
        self.rounds = 0
        self._weights = GrowingArray(2)
        self._lagging = GrowingArray(2)

    @property
    def update_rule(self) -> UpdateRule:
        """The rule and its options."""
        return UpdateRule(self.rule, self.loss, self.margin, self.average)

    @property
    def weights(self) -> Floats:
        """The prototypes, terms x topics, as a view of the part in use."""
        return self._weights.view

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Rank and learn the steps of the segment; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        self._weights.grow(segment.terms, segment.topics)
        if self.average:
            self._lagging.grow(segment.terms, segment.topics)
        model = Prototypes(self._weights.room, self._lagging.room)
        self.rounds = self._take_steps(segment, model, out)

    @abstractmethod
    def _take_steps(self, segment: Segment, model: Prototypes, out: Floats) -> int:
        """Run the kernel of the learner; return the number of rounds learned so far."""

    @property
    def topic_axes(self) -> dict[str, TopicAxis]:
        """The prototypes, and the averaging sum."""
        return {"weights": TopicAxis(1), "lagging": TopicAxis(1)}

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
        """Go on from a state that `state` returned."""
        rounds, weights = count_of(state, "rounds"), floats(state, "weights", None, None)
        if self.average:
            self._lagging.load(floats(state, "lagging", *weights.shape))
        self._weights.load(weights)
        self.rounds = rounds

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """The prototypes have no more terms and topics than the stream."""
        check_extent("weights", self._weights.shape[0], terms, "terms")
        check_extent("weights", self._weights.shape[1], topics, "topics")

    @property
    def weight_shape(self) -> tuple[int, int]:
        """The terms and topics of the prototypes."""
        return self._weights.shape[0], self._weights.shape[1]

    def weights_of(self, terms: Ints, topics: Longs) -> Floats:
        """The prototypes that it ranks with now; with `average`, their mean over all rounds."""
        places = np.ix_(terms, topics)
        weights: Floats = self._weights.room[places]
        if self.average and self.rounds > 0:
            weights = (self.rounds * weights - self._lagging.room[places]) / self.rounds
        return weights

    def size_bytes(self) -> int:
        """Memory of the prototypes and of the averaging sum."""
        return self._weights.nbytes + self._lagging.nbytes

    def max_bytes(self, terms: int, topics: int) -> int:
        """One number per term and topic; two with `average`."""
        return (2 if self.average else 1) * 8 * terms * topics
