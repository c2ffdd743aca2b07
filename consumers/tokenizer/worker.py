"""A tokenizer worker: reads documents, writes blocks to the log, at least once.

Workers are stateless members of one consumer group. For each poll, in this order:

1. write the documents of the poll as a record of the log, which names the offsets that it covers;
   write malformed events to the dead-letter topic;
2. wait until the broker has acknowledged these records;
3. commit the offsets to the consumer group. Only then is the next record written.

What a crash causes: before 1, nothing; between 1 and 3, the worker that gets the partitions next
reads the same documents again and writes them again. Readers of the log drop what an earlier record
covers, so nothing is lost and nothing counts twice.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from consumers.kafka.broker_outage import BrokerOutage
from consumers.kafka.client_types import (
    GroupConsumer,
    Message,
    Producer,
    SendFuture,
    TopicPartition,
)
from consumers.kafka.clients import (
    MAX_RECORD_BYTES,
    Timeouts,
    new_group_consumer,
    new_producer,
)
from consumers.kafka.errors import (
    BrokerAwayError,
    CommitFailedError,
    KafkaTimeoutError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
)
from consumers.kafka.log_reader import LogError, describe_log
from consumers.kafka.offsets import offsets_to_commit
from consumers.kafka.topics import TopicWatch
from consumers.kafka_names import tokenizer_consumer_group
from consumers.settings import Config, StreamSettings
from consumers.worker_metrics import WorkerMetrics
from pipeline.events.event import Event, MalformedEvent
from pipeline.events.formats import FORMATS
from pipeline.log.block import make_block
from pipeline.log.record import Span
from pipeline.log.writer import EventBatch, encode_batches
from pipeline.metrics.collectors import Position, TokenizerMetrics
from pipeline.text.tokenizer import Tokenizer

log = logging.getLogger(__name__)

POLL_MS = 200
JOIN_SECONDS = 5.0
WAIT_SECONDS = 0.2
COMMIT_MS = 3_000
STOP_MS = 5_000
MAX_BLOCK_BYTES = MAX_RECORD_BYTES - (64 << 10)  # the client adds the rest


class LostDocumentsError(Exception):
    """Documents were deleted before they were read; the message says what to do."""


class TokenizerWorker:
    """Reads its partitions of a stream's documents and writes them to the log."""

    def __init__(
        self,
        config: Config,
        stream: StreamSettings,
        instance: str,
        worker_metrics: WorkerMetrics,
        metrics: TokenizerMetrics,
    ) -> None:
        self._stream = stream
        self._group = tokenizer_consumer_group(stream.name)
        self._health, self._lag = worker_metrics.health, worker_metrics.lag
        self._metrics = metrics
        self._tokenizer = Tokenizer(stream.profile)
        self._decode = FORMATS[stream.format]
        self._times: dict[Any, float] = {}  # by partition: the time of the last document read
        self._next_offsets: dict[Any, int] = {}  # by partition: the next offset to read
        # Records that are written, but not yet acknowledged: their futures, how many events they
        # hold, the reasons of the dead letters among them, and the offsets to commit after them.
        self._futures: list[SendFuture] = []
        self._unacknowledged: tuple[int, list[str]] = (0, [])
        self._to_commit: dict[Any, int] = {}  # by partition
        self._events = self._dead_letters = 0  # acknowledged since the start of this worker
        make_block([Event("1", "warm up", None, None, None)], self._tokenizer)
        self._producer: Producer = new_producer(config.kafka)
        self._consumer: GroupConsumer = new_group_consumer(
            config.kafka, self._group, instance, stream.block
        )
        self._watch = TopicWatch(config.kafka, stream.documents)
        self._commit_outage = BrokerOutage(config.kafka.bootstrap)
        self._check_log(config)
        self._consumer.subscribe([stream.documents])

    def _check_log(self, config: Config) -> None:
        """Raise `LogError` if the log is empty although documents were read before."""
        if describe_log(config.kafka, self._stream.blocks).end > 0:
            return
        for number in self._consumer.partitions_for_topic(self._stream.documents) or ():
            partition = TopicPartition(self._stream.documents, number)
            committed = self._committed(partition)
            # Checked again: another tokenizer may have written and committed meanwhile.
            if committed and describe_log(config.kafka, self._stream.blocks).end == 0:
                raise LogError(
                    f"{self._stream.blocks} is empty, but {self._stream.documents} was read up to "
                    f"{committed}: the log was deleted. Restore it, or start over: reset the "
                    f"offsets of the group {self._group} to the first documents that a new log is "
                    "to hold, and move the snapshots away."
                )

    def run(self, stop: threading.Event) -> None:
        """Work until asked to stop; then finish the current record and leave the group."""
        self._stop = stop
        try:
            while not stop.is_set():
                self._step()
            self._commit_written()
            log.info(
                "stopped: %s events read, of which %s dead letters; all are written and "
                "acknowledged",
                f"{self._events:,}", f"{self._dead_letters:,}",
            )  # fmt: skip
        except BrokerAwayError:
            log.warning("stopped without a last commit: the broker does not answer")
        finally:
            self._consumer.close(autocommit=False, timeout_ms=STOP_MS)
            self._producer.close(timeout=STOP_MS / 1000)

    def _step(self) -> None:
        """Tokenize the next documents while the record before is on its way to the broker."""
        self._health.moved()
        self._health.ready = self._is_stable()
        try:
            polled = self._poll()
        except NoOffsetForPartitionError:
            self._seek_to_beginning()
            return
        except OffsetOutOfRangeError as error:
            self._check_documents(at_once=True)
            raise LostDocumentsError(
                f"documents of {self._stream.documents} were deleted by its retention before they "
                f"were read ({error}). To continue without them, set the group {self._group} to an "
                "offset that exists, and start a new log (another Kafka topic for `blocks`), "
                "because this one would have a gap."
            ) from None
        for partition, messages in polled.items():
            self._times[partition] = messages[-1].timestamp / 1000
        self._lag.polled(self._positions())
        if not polled:
            self._commit_written()
            self._check_documents()
            return
        batches, malformed = self._decode_events(polled)
        records = list(encode_batches(batches, self._tokenizer, MAX_BLOCK_BYTES))
        self._commit_written()
        self._futures = [self._send_dead_letter(message, error) for message, error in malformed]
        for record in records:
            self._futures.append(self._producer.send(self._stream.blocks, record, partition=0))
        ends = {partition: messages[-1].offset + 1 for partition, messages in polled.items()}
        self._to_commit.update(ends)
        events = sum(len(messages) for messages in polled.values())
        self._unacknowledged = (events, [error.reason for _, error in malformed])

    def _poll(self) -> dict[Any, list[Message]]:
        """The next documents, if there are any; during a rebalance nothing else is done.

        kafka-python discards a join that completes between two polls. Members that work long
        between short polls could therefore rebalance for ever.
        """
        until = time.monotonic() + JOIN_SECONDS
        while True:
            polled = self._consumer.poll(POLL_MS)
            has_time = time.monotonic() < until and not self._stop.is_set()
            if polled or self._is_stable() or not has_time:
                return polled

    def _is_stable(self) -> bool:
        """Whether this worker is a member of the group, and the group does not rebalance."""
        return bool(self._consumer.group_metadata().state == "<stable>")

    def _positions(self) -> dict[str, Position]:
        """How far each partition of this worker was read, if the broker has told its end."""
        positions = {}
        for partition in self._consumer.assignment():
            end = self._consumer.highwater(partition)
            if end is not None and partition in self._next_offsets:
                name = f"{partition.topic}-{partition.partition}"
                time_read = self._times.get(partition)
                positions[name] = Position(self._next_offsets[partition], end, time_read)
        return positions

    def _check_documents(self, at_once: bool = False) -> None:
        """Have this worker restarted if the topic of documents was deleted or replaced."""
        if self._watch.is_gone(at_once):
            raise OSError(f"{self._stream.documents} was deleted, and perhaps created again")

    def _seek_to_beginning(self) -> None:
        """Read partitions without a committed offset from their beginning."""
        for partition in self._consumer.assignment():
            if self._committed(partition) is None:
                self._consumer.seek_to_beginning(partition)

    def _decode_events(
        self, polled: dict[Any, list[Message]]
    ) -> tuple[list[EventBatch], list[tuple[Message, MalformedEvent]]]:
        """The events of a poll, by partition, and the messages that are malformed."""
        batches, malformed = [], []
        for partition, messages in polled.items():
            first, end = messages[0].offset, messages[-1].offset + 1
            # From where this worker, or the one before it, had read to: offsets without a document
            # (control records) must be covered too. Covering an offset twice does no harm.
            start = min(first, self._read_up_to(partition, first))
            number, identity = partition.partition, self._watch.identity
            span = Span(partition.topic, number, start, end, identity)
            batch = EventBatch(span, [], [], min(message.timestamp for message in messages))
            for message in messages:
                try:
                    event = self._decode(message.value or b"", self._stream.max_event_bytes)
                except MalformedEvent as error:
                    malformed.append((message, error))
                    continue
                batch.offsets.append(message.offset)
                batch.events.append(event)
            batches.append(batch)
            self._next_offsets[partition] = end
        return batches, malformed

    def _commit_written(self) -> None:
        """Wait until the broker has acknowledged the records, then commit the offsets they cover.

        During a rebalance, or while the group coordinator changes, offsets cannot be committed. A
        restart would cause another rebalance, and so on. So the offsets are committed later.
        """
        if self._futures:
            self._wait_for_acknowledgements()
            self._futures = []
            events, reasons = self._unacknowledged
            self._metrics.written(events, reasons)
            self._events += events
            self._dead_letters += len(reasons)
        assigned = self._consumer.assignment()
        offsets = {p: offset for p, offset in self._to_commit.items() if p in assigned}
        if offsets:
            try:
                self._consumer.commit(offsets_to_commit(offsets), timeout_ms=COMMIT_MS)
            except (CommitFailedError, RebalanceInProgressError) as error:
                log.debug("offsets are not committed yet: %s", error)
                return
            except KafkaTimeoutError:
                self._commit_outage.begin("offsets cannot be committed; trying again")
                return
            self._commit_outage.end()
        self._to_commit = {}
        for partition in self._next_offsets.keys() - assigned:
            del self._next_offsets[partition]  # another member reads it now

    def _wait_for_acknowledgements(self) -> None:
        """Wait for the records on their way to the broker; raises the error if one failed."""
        give_up_at = float("inf")
        for future in self._futures:
            while not future.is_done:
                with suppress(KafkaTimeoutError):
                    future.get(WAIT_SECONDS)
                if self._stop.is_set():
                    give_up_at = min(give_up_at, time.monotonic() + STOP_MS / 1000)
                    if time.monotonic() > give_up_at:
                        raise BrokerAwayError
            future.get(0)

    def _read_up_to(self, partition: Any, first: int) -> int:  # noqa: ANN401 - kafka-python's
        """The next offset of a partition, by this worker, or by the group if it is new here."""
        if partition in self._next_offsets:
            return self._next_offsets[partition]
        committed = self._committed(partition)
        return first if committed is None else committed

    def _committed(self, partition: Any) -> int | None:  # noqa: ANN401 - kafka-python's
        """The committed offset of the group; raises if the broker does not answer in time."""
        return self._consumer.committed(partition, timeout_ms=Timeouts().request_ms)

    def _send_dead_letter(self, message: Message, error: MalformedEvent) -> SendFuture:
        """Write a malformed event to the dead-letter topic, unchanged, with reason and origin."""
        origin = f"{message.topic}-{message.partition}-{message.offset}"
        headers: Sequence[tuple[str, bytes]] = [
            ("reason", error.reason.encode()),
            ("detail", error.detail.encode()),
            ("topic", message.topic.encode()),
            ("partition", str(message.partition).encode()),
            ("offset", str(message.offset).encode()),
        ]
        topic = self._stream.dead_letters
        return self._producer.send(topic, message.value, origin.encode(), headers)
