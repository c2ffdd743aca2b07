"""Shards take a segment together, in memory that they share.

The shards come to the place of the segment, and go on when all have come with the same credentials.
From then on every number has its place in the memory, and a shard that was killed takes its seat
again where the others wait for it.

The segment is taken apart if a shard is not there, or if the first payload says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from learners.arrays import Longs
from learners.barrier import SPACING, meet
from learners.sharding.exchange import Exchange, OutvotedError, Sent
from learners.sharding.meeting_place import SharedArrays

# Places on the barrier: those of exchange k begin at (k + 1) * PLACES. Each step has two of them.
PLACES = 1 << 24
MAX_STEPS = PLACES // 2 - 4
MAX_EXCHANGES = 1 << 38
PATIENCE = 10_000  # how often a core is given to others before a shard looks around: some ms


class Gathering:
    """The meeting of the shards about one segment, of so many steps, as one of them sees it."""

    def __init__(self, exchange: Exchange, number: int, steps: int, arrays: SharedArrays) -> None:
        self._exchange = exchange
        self.shard = exchange.shard
        self._number = number
        self.arrays = arrays
        self.begun = (number + 1) * PLACES  # memory is empty, that is 0, at first
        self._after_steps = self.begun + 2 * steps + 2
        self.waited = 0.0  # seconds

    def begin(self, credentials: bytes, everyone_is_here: Callable[[], bool]) -> bool:
        """Wait for all shards; return whether all take this segment together.

        They do if all have the same credentials, which say what they take and how. Raises
        `OutvotedError` if a payload of this exchange arrives before they have come.
        """
        shard, of_all = self.shard, self.arrays.credentials
        of_all[shard, : len(credentials)] = np.frombuffer(credentials, np.uint8)
        came = time.monotonic()
        while not meet(self.arrays.barrier, shard, self.begun, PATIENCE):
            if self._look(came) is not None:
                raise OutvotedError
            if not everyone_is_here():
                return False
        self.waited += time.monotonic() - came
        return all(bytes(one[: len(credentials)]) == credentials for one in of_all)

    def wait(self, since: float) -> None:
        """Look around while this shard waits for others, which it has done since a time.

        Raises `OutvotedError` if they do not come: the exchange is decided, whether they have taken
        the segment apart, or have recalled it from a record.
        """
        decided = self._look(since) is not None
        if decided and self._missing():
            raise OutvotedError

    def end(self) -> None:
        """Raise `OutvotedError` if a shard has gone on to another segment meanwhile.

        It has recalled this one then, and has not taken part in all of it.
        """
        if (self._places() >= self.begun + PLACES).any():
            raise OutvotedError

    def swap(self, payload: bytes, index: int) -> list[bytes]:
        """Write payload `index` of this shard, and return those of all shards."""
        shard, sizes = self.shard, self.arrays.sizes
        area = (self.arrays.found, self.arrays.before)[index]
        area[shard, : len(payload)] = np.frombuffer(payload, np.uint8)
        sizes[shard, index] = len(payload)
        place, came = self._after_steps + index, time.monotonic()
        while not meet(self.arrays.barrier, shard, place, PATIENCE):
            self.wait(came)
        self.waited += time.monotonic() - came
        return [bytes(row[:size]) for row, size in zip(area, sizes[:, index], strict=True)]

    def _look(self, since: float) -> Sent | None:
        """Look around while this shard waits for others."""
        return self._exchange.look(self._number, self._missing(), time.monotonic() - since)

    def _missing(self) -> list[int]:
        """The shards that are not yet where this one waits."""
        places = self._places()
        missing: list[int] = np.flatnonzero(places < places[self.shard]).tolist()
        return missing

    def _places(self) -> Longs:
        """Where each shard is."""
        return self.arrays.barrier[::SPACING][: self._exchange.shards]
