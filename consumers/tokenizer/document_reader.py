"""Reads the documents of a stream as a member of the tokenizers' consumer group.

Before anything is read from a committed offset, its note is compared with the Kafka topic: an
offset of a topic that was deleted means nothing in the one that was created in its place.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from consumers.kafka.broker_outage import BrokerOutage
from consumers.kafka.client_types import GroupConsumer, Message, TopicPartition
from consumers.kafka.clients import Timeouts, new_group_consumer
from consumers.kafka.errors import (
    CommitFailedError,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
)
from consumers.kafka.offsets import offsets_to_commit
from consumers.kafka.topics import TopicWatch
from consumers.kafka_names import tokenizer_consumer_group
from consumers.settings import Config, StreamSettings
from consumers.task import Task
from consumers.tokenizer.commit_note import CommitNote
from pipeline.log.record import Span
from pipeline.metrics.collectors import Position

log = logging.getLogger(__name__)

POLL_MS = 200
JOIN_SECONDS = 5.0
COMMIT_MS = 3_000
STOP_MS = 5_000
ASK_SECONDS = 2 * Timeouts().request_ms / 1000

Polled = dict[Any, list[Message]]  # by partition


class LostDocumentsError(Exception):
    """Documents were deleted before they were read; the message says what to do."""


class DocumentReader:
    """The partitions that the consumer group gives to one tokenizer, and how far they are read."""

    def __init__(self, config: Config, stream: StreamSettings, instance: str) -> None:
        self.group = tokenizer_consumer_group(stream.name)
        self._topic = stream.documents
        self._times: dict[Any, float] = {}  # by partition: the time of the last document read
        self._next_offsets: dict[Any, int] = {}  # by partition: the next offset to read
        self.taken_over: dict[Any, CommitNote] = {}  # partitions of which nothing was read yet
        self._outage = BrokerOutage(config.kafka.bootstrap)
        self._consumer: GroupConsumer = new_group_consumer(
            config.kafka, self.group, instance, stream.block
        )
        self._watch = TopicWatch(config.kafka, stream.documents)
        self._asking: Task[bool] | None = None  # whether the topic is still the same
        self._consumer.subscribe([stream.documents])

    @property
    def topic_id(self) -> str:
        """The id of the Kafka topic that is read."""
        return self._watch.identity

    def first_committed(self) -> int | None:
        """A committed offset of the group that is not 0, if there is one for this Kafka topic."""
        for number in self._consumer.partitions_for_topic(self._topic) or ():
            committed = self._committed(TopicPartition(self._topic, number))
            if committed is not None and committed[0]:
                return committed[0]
        return None

    def poll(self, stop: threading.Event) -> Polled:
        """The next documents, if there are any."""
        if self._asking is not None:
            self._asking.done(ASK_SECONDS)
        try:
            polled = self._poll(stop)
        except NoOffsetForPartitionError:
            self._next_offsets.clear()
            self._take_over()
            return {}
        except OffsetOutOfRangeError as error:
            if self._take_over():
                return {}
            self.check_topic(at_once=True)
            raise LostDocumentsError(
                f"documents of {self._topic} were deleted by its retention before they were read "
                f"({error}). To continue without them, set the group {self.group} to an offset "
                "that exists, and start a new log (another Kafka topic for `blocks`), because this "
                "one would have a gap."
            ) from None
        for partition in self._take_over():
            polled.pop(partition, None)
        for partition, messages in polled.items():
            self._times[partition] = messages[-1].timestamp / 1000
        if polled:
            self._asking = Task(f"asking for the id of {self._topic}", self._watch.is_current)
        return polled

    def _poll(self, stop: threading.Event) -> Polled:
        """The next documents, if there are any; during a rebalance nothing else is done.

        kafka-python discards a join that completes between two polls. Members that work long
        between short polls could therefore rebalance for ever.
        """
        until = time.monotonic() + JOIN_SECONDS
        while True:
            polled = self._consumer.poll(POLL_MS)
            has_time = time.monotonic() < until and not stop.is_set()
            if polled or self.is_stable() or not has_time:
                return polled

    def is_stable(self) -> bool:
        """Whether this worker is a member of the group, and the group does not rebalance."""
        return bool(self._consumer.group_metadata().state == "<stable>")

    def _take_over(self) -> list[Any]:
        """Look at the committed offsets of new partitions; returns those set to their beginning."""
        moved = []
        for partition in self._consumer.assignment() - self._next_offsets.keys():
            committed = self._committed(partition)
            if committed is None:
                begin: int = self._consumer.beginning_offsets([partition])[partition]
                self._consumer.seek(partition, begin)
                moved.append(partition)
                committed = begin, CommitNote()
            self._next_offsets[partition], self.taken_over[partition] = committed
        return moved

    def _committed(self, partition: Any) -> tuple[int, CommitNote] | None:  # noqa: ANN401 - kafka-python's
        """The group's committed offset in this Kafka topic, with its note."""
        timeout = Timeouts().request_ms
        committed = self._consumer.committed(partition, metadata=True, timeout_ms=timeout)
        if committed is None:
            return None
        note = CommitNote.decode(committed.metadata)
        if note.topic_id not in ("", self.topic_id):
            log.warning(
                "%s was deleted and created again: reading partition %s of the new one from its "
                "beginning, not from the old offset %s. Documents of the old one that were not "
                "read are lost",
                self._topic, partition.partition, committed.offset,
            )  # fmt: skip
            return None
        return committed.offset, note

    def check_topic(self, at_once: bool = False) -> None:
        """Have this worker restarted if the topic of documents was deleted or replaced."""
        if self._watch.is_gone(at_once):
            raise OSError(f"{self._topic} was deleted, and perhaps created again")

    def confirm_topic(self) -> None:
        """Make sure that what was polled so far was read from the topic that this reader knows.

        Otherwise the polled offsets belong to the old topic and the documents to the new one, whose
        first documents would be skipped. The broker was asked after the poll, by another thread.
        """
        if self._asking is not None and not self._asking.result(ASK_SECONDS):
            raise OSError(f"{self._topic} was deleted, and perhaps created again")

    def span(self, partition: Any, messages: list[Message]) -> Span:  # noqa: ANN401 - kafka-python's
        """The offsets that a record with these documents covers; they count as read.

        The span begins where this worker, or the one before it, had read to, because offsets
        without a document (control records) must be covered too. Covering an offset twice does no
        harm.
        """
        first, end = messages[0].offset, messages[-1].offset + 1
        start = min(first, self._next_offsets.get(partition, first))
        self._next_offsets[partition] = end
        return Span(partition.topic, partition.partition, start, end, self.topic_id)

    def reads(self, partition: Any) -> bool:  # noqa: ANN401 - kafka-python's
        """Whether the partition is assigned to this worker."""
        return partition in self._consumer.assignment()

    def read_again(self, partition: Any, offset: int) -> None:  # noqa: ANN401 - kafka-python's
        """Go back to an offset of a partition, because what was polled from there was not used."""
        if self.reads(partition):
            self._consumer.seek(partition, offset)

    def commit(self, offsets: dict[Any, int], notes: dict[Any, CommitNote]) -> bool:
        """Commit the next offsets of partitions; says whether that was possible.

        During a rebalance, or while the group coordinator changes, offsets cannot be committed. A
        restart would cause another rebalance, and so on. So the offsets are committed later.
        """
        assigned = self._consumer.assignment()
        here = {p: offset for p, offset in offsets.items() if p in assigned}
        if here:
            plain = CommitNote(self.topic_id)
            encoded = {partition: notes.get(partition, plain).encode() for partition in here}
            try:
                self._consumer.commit(offsets_to_commit(here, encoded), timeout_ms=COMMIT_MS)
            except (CommitFailedError, RebalanceInProgressError) as error:
                log.debug("offsets are not committed yet: %s", error)
                return False
            except KafkaTimeoutError:
                self._outage.begin("offsets cannot be committed; trying again")
                return False
            self._outage.end()
        for partition in self._next_offsets.keys() - assigned:
            del self._next_offsets[partition]  # another member reads it now
            self.taken_over.pop(partition, None)
        return True

    def positions(self) -> dict[str, Position]:
        """How far each partition of this worker was read, if the broker has told its end."""
        positions = {}
        for partition in self._consumer.assignment():
            end = self._consumer.highwater(partition)
            if end is not None and partition in self._next_offsets:
                name = f"{partition.topic}-{partition.partition}"
                time_read = self._times.get(partition)
                positions[name] = Position(self._next_offsets[partition], end, time_read)
        return positions

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close(autocommit=False, timeout_ms=STOP_MS)
        self._watch.close()
