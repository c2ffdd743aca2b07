"""Reads the log of a stream from a chosen offset on."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from consumers.kafka.client_types import Consumer, Message, TopicPartition
from consumers.kafka.clients import new_consumer
from consumers.kafka.errors import OffsetOutOfRangeError
from consumers.kafka.topics import TopicWatch, topic_identity
from consumers.settings import KafkaSettings
from pipeline.metrics.collectors import Position

POLL_MS = 200


@dataclass(frozen=True, slots=True)
class LogDescription:
    """Which log this is, its first offset, and the offset behind its last record."""

    topic: str
    identity: str
    first: int
    end: int


def describe_log(settings: KafkaSettings, topic: str) -> LogDescription:
    """Ask the broker for identity and bounds of a log."""
    where = TopicPartition(topic, 0)
    consumer = new_consumer(settings)
    try:
        first, end = consumer.beginning_offsets([where]), consumer.end_offsets([where])
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)
    return LogDescription(topic, topic_identity(settings, topic), first[where], end[where])


class LogError(Exception):
    """The log cannot be followed; the message says what to do."""


class LogReader:
    """Reads the records of a log one after another from an offset on."""

    def __init__(self, settings: KafkaSettings, topic: str, position: int) -> None:
        self._source = TopicPartition(topic, 0)
        self._position = position
        self._time: float | None = None
        self._fetched: deque[Message] = deque()  # not taken yet
        self._consumer: Consumer = new_consumer(settings)
        self._consumer.assign([self._source])
        self._consumer.seek(self._source, position)
        self._watch = TopicWatch(settings, topic)

    def poll(self, max_records: int, timeout_ms: int = POLL_MS) -> list[Message]:
        """The next records, if any arrive before the timeout."""
        return self.take(len(self.fetch(max_records, timeout_ms)))

    def fetch(self, max_records: int, timeout_ms: int = POLL_MS) -> Sequence[Message]:
        """The records that can be taken next, after a look for more if they are fewer."""
        missing = max_records - len(self._fetched)
        if missing > 0:
            self._fetched.extend(self._poll(missing, 0 if self._fetched else timeout_ms))
        return tuple(islice(self._fetched, max_records))

    def take(self, count: int) -> list[Message]:
        """Take some of the records that were fetched."""
        messages = [self._fetched.popleft() for _ in range(count)]
        if messages:
            self._position = messages[-1].offset + 1
            self._time = messages[-1].timestamp / 1000
        return messages

    def _poll(self, max_records: int, timeout_ms: int) -> list[Message]:
        try:
            messages = self._consumer.poll(timeout_ms, max_records=max_records).get(
                self._source, []
            )
        except OffsetOutOfRangeError:
            raise self._lost() from None
        if not messages and self._watch.is_gone():
            raise self._lost()
        return messages

    def _lost(self) -> LogError:
        return LogError(
            f"{self._source.topic} has no offset {self._position}: the log was deleted or cut "
            "since it was last read. Restore it, or start over: name another Kafka topic for "
            "`blocks`, reset the offsets of the tokenizers' group, and empty the snapshot folder."
        )

    @property
    def end(self) -> int | None:
        """The offset behind the last record of the log; None until the broker has told it."""
        return self._consumer.highwater(self._source)

    def positions(self) -> dict[str, Position]:
        """How far the log was read, by partition; empty until the broker has told its end."""
        end = self.end
        if end is None:
            return {}
        name = f"{self._source.topic}-{self._source.partition}"
        return {name: Position(self._position, end, self._time)}

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close(autocommit=False, timeout_ms=1000)
