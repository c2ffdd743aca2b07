"""What a shard learns with: its own topics, by themselves or together with the other shards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.learner import State
from learners.segment import Segment
from learners.sharding.gathering import Gathering


class ShardPart(Protocol):
    """The model of a shard, for its own topics. Its methods are those of `Learner`, but for these.

    `topics` are always those of all shards.
    """

    exchanges: int  # so far, which is the number of the next one
    sent_bytes: int  # in these exchanges
    threads: int  # see `Learner.threads`
    learns_alone: bool  # it needs the other shards for rankings only

    def begin(self, segment: Segment, own: Floats) -> None:
        """Do what needs no other shards. Then comes one of the three methods below.

        After that, all steps are taken, and the scores of its own topics, which are exact, are in
        `own`.
        """

    def take_apart(self, segment: Segment, own: Floats) -> None:
        """Do the rest by exchanges. Raises `OutvotedError` before anything has changed."""

    def take_together(self, segment: Segment, own: Floats, gathering: Gathering) -> bytes:
        """Do the rest in memory that the shards share; return the minutes of the meeting."""

    def recall(self, segment: Segment, own: Floats, minutes: memoryview) -> None:
        """Do the rest by the minutes of a meeting; raises ValueError if they cannot be right."""

    def minutes_bytes(self, segment: Segment) -> int:
        """How long the minutes of a meeting about this segment are."""

    def column(self, terms: Ints, column: int) -> Floats | None:
        """The weights of terms for one of its own topics; None if it has no weights."""

    def forget(self, keep: Longs) -> None:
        """See `Learner.forget`."""

    def state(self) -> State:
        """See `Learner.state`; with `exchanges`."""

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """See `Learner.restore`."""

    def check_references(self, terms: int, topics: int) -> None:
        """See `Learner.check_references`."""

    def size_bytes(self) -> int:
        """See `Learner.size_bytes`."""

    def max_bytes(self, terms: int, topics: int) -> int:
        """See `Learner.max_bytes`."""

    def timings(self) -> dict[str, float]:
        """See `Learner.timings`."""
