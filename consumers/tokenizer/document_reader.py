"""Reads the documents and labels of a stream as a member of the tokenizers' consumer group.

Before anything is read from a committed offset, its note is compared with the Kafka topic: an
offset of a topic that was deleted means nothing in the one that was created in its place.

Offsets can have gaps that are no losses: compaction removes records, and transactions end with
markers. Spans of the log cover such gaps, and when nothing more is there to read, the offset behind
the last marker is committed. Otherwise the marker would look like a document that waits.
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from consumers.kafka.broker_outage import BrokerOutage
from consumers.kafka.client_types import GroupConsumer, Message, TopicPartition
from consumers.kafka.clients import Timeouts, new_group_consumer
from consumers.kafka.commit_note import CommitNote
from consumers.kafka.errors import (
    CommitFailedError,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
)
from consumers.kafka.input_end import InputEnd
from consumers.kafka.offsets import committed_offsets, offsets_to_commit
from consumers.kafka_names import tokenizer_consumer_group
from consumers.settings import Config
from consumers.stream_settings import EARLIEST, StreamSettings
from consumers.task import Task
from consumers.tokenizer.beginning import first_offsets
from consumers.tokenizer.ending import Ending
from consumers.tokenizer.input_topics import InputTopics, subscribe
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
        self._start = stream.start
        self._settings = config.kafka
        self._times: dict[Any, float] = {}  # by partition: the time of the last document read
        self._next_offsets: dict[Any, int] = {}  # by partition: the next offset to read
        self._covered: dict[Any, int] = {}  # by partition: where the next span of the log begins
        self._logged: dict[Any, int] = {}  # by partition: up to where the log is known to cover it
        self.taken_over: dict[Any, CommitNote] = {}  # partitions of which nothing was read yet
        self._outage = BrokerOutage(config.kafka.bootstrap)
        self._consumer: GroupConsumer = new_group_consumer(
            config.kafka, self.group, instance, stream.block
        )
        self._ending = Ending(self._consumer, stream.stop)
        self._input_end = InputEnd(config, stream)
        self._topics = InputTopics(config, (*stream.documents, *stream.labels))
        self._asking: Task[str | None] | None = None  # for a topic that was replaced
        subscribe(self._consumer, config, stream)

    def topic_id(self, topic: str) -> str:
        """The id of a Kafka topic that is read."""
        return self._topics.identity(topic)

    def logged_before(self) -> str | None:
        """A partition of which documents were written to the log, if there is one, with its offset.

        An offset that was set by hand, or where a stream is to begin, says nothing of the log.
        """
        for partition, committed in self._all_committed().items():
            note, topic = CommitNote.decode(committed.metadata), partition.topic
            same = topic not in self._topics.names or note.topic_id == self.topic_id(topic)
            if note.covered is not None and same:
                return f"offset {note.covered} of {partition.topic}[{partition.partition}]"
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
            self.check_topics(at_once=True)
            raise LostDocumentsError(
                f"documents were deleted by the retention of their Kafka topic before they were "
                f"read ({error}). To continue without them, set the group {self.group} to an "
                "offset that exists, and start a new log (another Kafka topic for `blocks`), "
                "because this one would have a gap."
            ) from None
        for partition in self._take_over():
            polled.pop(partition, None)
        self._ending.cut(polled)
        for partition, messages in polled.items():
            self._times[partition] = messages[-1].timestamp / 1000
        if polled:
            topics = {partition.topic for partition in polled}
            ask = partial(self._topics.changed, topics)
            self._asking = Task("asking for the ids of the topics", ask)
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
        """Look at the committed offsets of new partitions; returns those that were moved."""
        new = self._consumer.assignment() - self._next_offsets.keys()
        moved = {p for p in new if self._topics.meet(p.topic)}  # what was polled may be older
        committed = {partition: self._committed(partition) for partition in new}
        missing = [partition for partition, found in committed.items() if found is None]
        begins = self._begin(missing) if missing else {}
        for partition, found in committed.items():
            offset, note = found or (begins[partition], CommitNote())
            if found is None or partition in moved:
                self._consumer.seek(partition, offset)
                moved.add(partition)
            self._next_offsets[partition], self.taken_over[partition] = offset, note
            self._covered[partition] = offset if note.covered is None else note.covered
            if note.covered is not None:
                self._logged[partition] = note.covered
            if note.ended and note.ended == self._ending.stop:
                self._ending.has_note(partition)
        return list(moved)

    def _begin(self, missing: list[Any]) -> dict[Any, int]:
        """The first offsets of partitions for which none is committed."""
        if self._start == EARLIEST or self._all_committed():
            return self._consumer.beginning_offsets(missing)
        topics = {p.topic for p in missing} | (self._consumer.subscription() or set())
        for topic in topics:
            self._topics.meet(topic)
        partitions = [
            TopicPartition(topic, number)
            for topic in sorted(topics)
            for number in sorted(self._consumer.partitions_for_topic(topic) or ())
        ]
        begins = first_offsets(self._consumer, partitions, self._start)
        notes = {p: CommitNote(self.topic_id(p.topic)).encode() for p in begins}
        self._consumer.commit(offsets_to_commit(begins, notes), timeout_ms=COMMIT_MS)
        return begins

    def _all_committed(self) -> dict[Any, Any]:
        """All committed offsets of the group, by partition, with their notes."""
        return committed_offsets(self._settings, self.group)

    def _committed(self, partition: Any) -> tuple[int, CommitNote] | None:  # noqa: ANN401 - kafka-python's
        """The group's committed offset in this Kafka topic, with its note."""
        timeout = Timeouts().request_ms
        committed = self._consumer.committed(partition, metadata=True, timeout_ms=timeout)
        if committed is None:
            return None
        note = CommitNote.decode(committed.metadata)
        if note.topic_id not in ("", self.topic_id(partition.topic)):
            log.warning(
                "%s was deleted and created again: reading partition %s of the new one from its "
                "beginning, not from the old offset %s. Documents of the old one that were not "
                "read are lost",
                partition.topic, partition.partition, committed.offset,
            )  # fmt: skip
            return None
        return committed.offset, note

    def check_topics(self, at_once: bool = False) -> None:
        """Have this worker restarted if a topic was deleted or replaced."""
        refuse_replaced(self._topics.gone(at_once))

    def confirm_topics(self) -> None:
        """Make sure that what was polled so far was read from the topics that this reader knows.

        Otherwise the polled offsets belong to an old topic and the documents to a new one, whose
        first documents would be skipped. The broker was asked after the poll, by another thread.
        """
        if self._asking is not None:
            refuse_replaced(self._asking.result(ASK_SECONDS))

    def span(self, partition: Any, messages: list[Message]) -> Span:  # noqa: ANN401 - kafka-python's
        """The offsets that a record with these documents covers; they count as read.

        The span begins where the log covered the partition before, because offsets without a
        document must be covered too. Covering an offset twice does no harm.
        """
        first, end = messages[0].offset, messages[-1].offset + 1
        start = min(first, self._covered.get(partition, first))
        self._next_offsets[partition] = self._covered[partition] = end
        identity = self.topic_id(partition.topic)
        return Span(partition.topic, partition.partition, start, end, identity)

    def is_logged(self, partition: Any, stop: int) -> None:  # noqa: ANN401 - kafka-python's
        """Take note that the log covers a partition up to an offset."""
        self._logged[partition] = stop

    def reads(self, partition: Any) -> bool:  # noqa: ANN401 - kafka-python's
        """Whether the partition is assigned to this worker."""
        return partition in self._consumer.assignment()

    def read_again(self, partition: Any, offset: int) -> None:  # noqa: ANN401 - kafka-python's
        """Go back to an offset of a partition, because what was polled from there was not used."""
        if self.reads(partition):
            self._consumer.seek(partition, offset)
            self._ending.forget(partition)

    def commit(self, offsets: dict[Any, int], notes: dict[Any, CommitNote]) -> bool:
        """Commit the next offsets of partitions; says whether that was possible.

        During a rebalance, or while the group coordinator changes, offsets cannot be committed. A
        restart would cause another rebalance, and so on. So the offsets are committed later.
        """
        assigned = self._consumer.assignment()
        here = {p: offset for p, offset in offsets.items() if p in assigned}
        if here:
            encoded = {p: self._note(p, notes.get(p, CommitNote())).encode() for p in here}
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
            self._ending.forget(partition)
            for known in (self.taken_over, self._covered, self._logged):
                known.pop(partition, None)
        return True

    def _note(self, partition: Any, note: CommitNote) -> CommitNote:  # noqa: ANN401 - kafka-python's
        """A note with what is known about its topic and the log."""
        identity, covered = self.topic_id(partition.topic), self._logged.get(partition)
        return replace(note, topic_id=identity, covered=covered)

    def commit_gaps(self, notes: dict[Any, CommitNote]) -> None:
        """Commit how far partitions are read if only gaps follow their last document.

        The note of a partition that has ended says so. To be called when all that was polled is
        committed.
        """
        positions, ended = {}, []
        notes = {**self.taken_over, **notes}
        for partition in self._consumer.assignment() & self._next_offsets.keys():
            with suppress(KafkaTimeoutError):  # asked again after the next poll
                position = self._consumer.position(partition, timeout_ms=COMMIT_MS)
                if self._ending.newly_ended(partition, position):
                    note = notes.get(partition, CommitNote())
                    notes[partition] = replace(note, ended=self._ending.stop)
                    ended.append(partition)
                elif position <= self._next_offsets[partition]:
                    continue
                positions[partition] = position
        if positions and self.commit(positions, notes):
            self._next_offsets.update(positions)
            for partition in ended:
                self._ending.has_note(partition)

    def input_has_ended(self) -> bool:
        """Whether all partitions of the stream have ended, also those of other tokenizers."""
        return self._ending.have_notes(self._consumer.assignment()) and self._input_end.is_reached()

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
        self._topics.close()


def refuse_replaced(topic: str | None) -> None:
    """Raise an error, after which the worker starts over, if a topic was replaced."""
    if topic is not None:
        raise OSError(f"{topic} was deleted, and perhaps created again")
