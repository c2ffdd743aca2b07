"""One incoming record, before it is decoded: its value, and what came with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Record(NamedTuple):
    """A line of a file, or a record of a Kafka topic. Only the latter has a key and the like."""

    value: bytes | None  # None: a Kafka record without a value, a tombstone
    key: bytes | None = None
    timestamp: int | None = None  # milliseconds since 1970
    headers: Sequence[tuple[str, bytes]] = ()
    topic: str = ""  # the Kafka topic; empty: a file
    partition: int = 0
    offset: int = 0  # in its partition, or the number of the line

    @property
    def origin(self) -> str:
        """Where the record comes from, a text that no other record of the input has.

        >>> Record(b"{}", topic="news", partition=2, offset=17).origin, Record(b"", offset=3).origin
        ('news-2-17', '3')
        """
        return f"{self.topic}-{self.partition}-{self.offset}" if self.topic else str(self.offset)
