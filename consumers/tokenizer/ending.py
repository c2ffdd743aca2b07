"""Where the input of a stream with a `stop` ends, partition by partition.

A partition ends before its first record whose time is the stop or later. If it has no such record,
it ends where it is read to its end after the stop. What has ended stays ended: it is written to the
note of the committed offset, and a record that arrives later with an earlier time is not read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from consumers.kafka.client_types import GroupConsumer, Message
from consumers.stream_settings import since_epoch_ms


class Ending:
    """The partitions of one tokenizer that have ended."""

    def __init__(self, consumer: GroupConsumer, stop: str) -> None:
        self.stop = stop
        self._consumer = consumer
        self._stop_ms = since_epoch_ms(stop) if stop else None
        self._ended: set[Any] = set()
        self._noted: set[Any] = set()  # those whose notes say it

    def cut(self, polled: dict[Any, list[Message]]) -> None:
        """Remove the records from the stop on, and end their partitions."""
        if self._stop_ms is None:
            return
        for partition, messages in list(polled.items()):
            late = next((m.offset for m in messages if m.timestamp >= self._stop_ms), None)
            if partition in self._ended:
                late = messages[0].offset  # a rebalance makes the client read it again
            if late is None:
                continue
            self._consumer.seek(partition, late)
            self._end(partition)
            polled[partition] = [m for m in messages if m.offset < late]
            if not polled[partition]:
                del polled[partition]

    def newly_ended(self, partition: Any, position: int) -> bool:  # noqa: ANN401 - kafka-python's
        """Whether the partition has ended, and its note does not say so yet."""
        if self._stop_ms is None or partition in self._noted:
            return False
        end = self._consumer.highwater(partition)
        at_the_end = end is not None and position >= end
        if at_the_end and time.time() * 1000 >= self._stop_ms:
            self._end(partition)
        return partition in self._ended

    def has_note(self, partition: Any) -> None:  # noqa: ANN401 - kafka-python's
        """Take note that the note of the partition says that it has ended."""
        self._end(partition)
        self._noted.add(partition)

    def have_notes(self, partitions: Iterable[Any]) -> bool:
        """Whether all these partitions have ended, and their notes say it."""
        return self._stop_ms is not None and self._noted.issuperset(partitions)

    def forget(self, partition: Any) -> None:  # noqa: ANN401 - kafka-python's
        """Take note that the partition is read again from an earlier place, or by another."""
        if partition in self._ended:
            self._ended.discard(partition)
            self._noted.discard(partition)
            if partition in self._consumer.assignment():
                self._consumer.resume(partition)

    def _end(self, partition: Any) -> None:  # noqa: ANN401 - kafka-python's
        self._ended.add(partition)
        self._consumer.pause(partition)
