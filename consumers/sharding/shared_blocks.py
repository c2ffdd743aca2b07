"""How the shards of a lane agree on the records of the log that they follow as one block.

Every block costs some exchanges, however small it is. So shards that are behind take all records
that wait as one block. They must take the same ones, because the exchanges depend on the block.
Shard 0 decides: in every exchange it says how many records wait behind the current block, and all
shards take so many next. These records are in the log, so that the others only have to read them.
A block ends earlier where a snapshot is due, because all shards take it at the same offset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from consumers.kafka.client_types import Message
from consumers.sharding.score_records import MAX_BACKLOG
from pipeline.storage.container import DamagedError

MAX_BLOCK_BYTES = 1 << 20  # of the records that are joined


class Reader(Protocol):
    """What is needed of a reader of the log."""

    def fetch(self, max_records: int, timeout_ms: int) -> Sequence[Message]:
        """The records that can be taken next."""

    def take(self, count: int) -> list[Message]:
        """Take some of them."""


class SharedBlocks:
    """The blocks of one lane, as one of its shards takes them.

    `size` is the number of records of the next block. It belongs into a snapshot.
    """

    def __init__(self, reader: Reader, size: int = 1) -> None:
        if not 1 <= size <= MAX_BACKLOG:
            raise DamagedError(
                f"the snapshot is damaged: a block of {size} records is next in it; it must be of "
                f"1 to {MAX_BACKLOG}"
            )
        self._reader = reader
        self.size = size

    def backlog(self) -> int:
        """How many records wait and are small enough together to be one block."""
        total = count = 0
        for message in self._reader.fetch(MAX_BACKLOG, 0):
            total += len(message.value or b"")
            if total > MAX_BLOCK_BYTES:
                break
            count += 1
        return count

    def take(self, timeout_ms: int, is_due_between: Callable[[int, int], bool]) -> list[Message]:
        """Take the records of the next block; none if they are not all there yet.

        `is_due_between` tells from the times of the first and of another record whether a snapshot
        is due before the latter.
        """
        waiting = self._reader.fetch(self.size, timeout_ms)
        if len(waiting) < self.size:
            return []
        first, count = waiting[0].timestamp, 1
        while count < self.size and not is_due_between(first, waiting[count].timestamp):
            count += 1
        return self._reader.take(count)

    def took(self, backlog: int) -> None:
        """Take note of the backlog that shard 0 had at the last exchange of a block."""
        self.size = max(1, backlog)
