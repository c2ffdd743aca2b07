"""A shard of a learner whose topics do not depend on each other: it learns alone."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import count_of
from learners.learner import Learner, State
from learners.scores import DenseScores
from learners.segment import Segment
from learners.sharding.gathering import Gathering
from learners.sharding.topic_slice import TopicSlice


class IndependentPart:
    """A whole learner that follows a stream of the shard's own topics."""

    learns_alone = True

    def __init__(self, learner: Learner, own: TopicSlice) -> None:
        self.exchanges = self.sent_bytes = 0
        self.threads = 1
        self._learner = learner
        self._own = own
        self._seconds = 0.0
        learner.number_topics(own.shard, own.shards)

    def begin(self, segment: Segment, own: Floats) -> None:
        """Take all steps, which needs no other shards."""
        started = time.perf_counter()
        self._learner.threads = self.threads
        self._learner.follow(self._own.segment(segment), DenseScores(own))
        self._seconds += time.perf_counter() - started

    def take_apart(self, segment: Segment, own: Floats) -> None:
        """Nothing is left to do."""

    def take_together(self, segment: Segment, own: Floats, gathering: Gathering) -> bytes:
        """Nothing is left to do."""
        return b""

    def recall(self, segment: Segment, own: Floats, minutes: memoryview) -> None:
        """Nothing is left to do."""

    def minutes_bytes(self, segment: Segment) -> int:
        """It meets nobody to learn."""
        return 0

    def forget(self, keep: Longs) -> None:
        """Drop the terms that left the vocabulary."""
        self._learner.forget(keep)

    def state(self) -> State:
        """The state of the learner."""
        return {**self._learner.state(), "exchanges": np.array(self.exchanges)}

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` returned."""
        self.exchanges = count_of(state, "exchanges")
        self._learner.restore(state)

    def check_references(self, terms: int, topics: int) -> None:
        """The model has no more terms and topics than the stream."""
        self._learner.check_references(terms, self._own.count(topics))

    def column(self, terms: Ints, column: int) -> Floats | None:
        """The weights of terms for one of its own topics."""
        weights = self._learner.weights_of(terms, np.array([column]))
        return None if weights is None else weights[:, 0]

    def size_bytes(self) -> int:
        """Memory of the model."""
        return self._learner.size_bytes()

    def max_bytes(self, terms: int, topics: int) -> int:
        """That of a learner with its own topics."""
        return self._learner.max_bytes(terms, self._own.count(topics))

    def timings(self) -> dict[str, float]:
        """The seconds spent on learning."""
        return {"learn": self._seconds}
