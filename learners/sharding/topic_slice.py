"""The topics of one shard: topic r belongs to shard r modulo the number of shards.

There it is topic r // shards. So new topics are appended in every shard, and a shard sees a stream
of its own topics that a whole learner can follow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Ints, Longs
from learners.jit import njit
from learners.segment import Segment, Steps


@njit
def owned(topics: int, shard: int, shards: int) -> int:
    """Return how many of the first `topics` topics belong to a shard."""
    return (topics - shard + shards - 1) // shards


class TopicSlice(NamedTuple):
    """One of several shards, and the topics that belong to it."""

    shard: int
    shards: int

    def count(self, topics: int) -> int:
        """How many of the first `topics` topics belong to it."""
        return owned(topics, self.shard, self.shards)

    def counts(self, topics: Ints) -> Ints:
        """As `count`, for many numbers of topics."""
        counts: Ints = (topics - self.shard + self.shards - 1) // self.shards
        return counts

    def owns(self, topics: Ints | Longs) -> Bools:
        """Which of these topics belong to it."""
        own: Bools = topics % self.shards == self.shard
        return own

    def steps(self, steps: Steps) -> Steps:
        """The same steps, with only the topics that belong to it."""
        first = steps.label_starts[0]
        labels = steps.labels[first : steps.label_starts[-1]]
        own = self.owns(labels)
        before = np.concatenate(([0], np.cumsum(own)))
        return Steps(
            steps.row, steps.learn, self.counts(steps.known), before[steps.label_starts - first],
            labels[own] // self.shards, self.counts(steps.ranked),
        )  # fmt: skip

    def segment(self, segment: Segment) -> Segment:
        """The same segment, with only the topics that belong to it."""
        topics = self.count(segment.topics)
        return Segment(segment.rows, self.steps(segment.steps), segment.terms, topics)
