"""Reading the log of rounds from a place of one's own choosing."""

from __future__ import annotations

from dataclasses import dataclass

from kafka import TopicPartition
from kafka.errors import OffsetOutOfRangeError

from consumers.config import KafkaSettings
from consumers.kafka.clients import Consumer, Message, new_consumer
from consumers.kafka.topics import TopicWatch, topic_identity
from pipeline.metrics.collectors import Position

POLL_MS = 200


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What the broker says of a log: which one it is, and from where to where it reaches."""

    topic: str
    identity: str
    first: int
    end: int


def log_facts(settings: KafkaSettings, topic: str) -> LogFacts:
    """Ask the broker about a log."""
    where = TopicPartition(topic, 0)
    consumer = new_consumer(settings)
    try:
        first, end = consumer.beginning_offsets([where]), consumer.end_offsets([where])
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)
    return LogFacts(topic, topic_identity(settings, topic), first[where], end[where])


class LogError(Exception):
    """The log cannot be followed; the message says what to do."""


class LogReader:
    """Reads the records of a stream's log one after another, from a place on."""

    def __init__(self, settings: KafkaSettings, topic: str, position: int) -> None:
        self._source = TopicPartition(topic, 0)
        self._position = position
        self._time: float | None = None
        self._consumer: Consumer = new_consumer(settings)
        self._consumer.assign([self._source])
        self._consumer.seek(self._source, position)
        self._watch = TopicWatch(settings, topic)

    def poll(self, most: int, timeout_ms: int = POLL_MS) -> list[Message]:
        """The next records, at most so many, if any come in time."""
        try:
            messages = self._consumer.poll(timeout_ms, max_records=most).get(self._source, [])
        except OffsetOutOfRangeError:
            raise self._gone() from None
        if not messages and self._watch.gone():
            raise self._gone()
        if messages:
            self._position = messages[-1].offset + 1
            self._time = messages[-1].timestamp / 1000
        return messages

    def _gone(self) -> LogError:
        return LogError(
            f"{self._source.topic} has no offset {self._position}: the log was deleted or cut "
            "since it was last read. Restore it, or start anew: another `blocks` topic, the "
            "tokenizers' group set back, and an empty snapshot folder."
        )

    @property
    def end(self) -> int | None:
        """How far the log reaches, once the broker has said so."""
        return self._consumer.highwater(self._source)

    def where(self) -> dict[str, Position]:
        """How far the log was read, once the broker has said how far it reaches."""
        end = self.end
        if end is None:
            return {}
        name = f"{self._source.topic}-{self._source.partition}"
        return {name: Position(self._position, end, self._time)}

    def close(self) -> None:
        """Let the broker go."""
        self._consumer.close(autocommit=False, timeout_ms=1000)
