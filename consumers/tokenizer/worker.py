"""A tokenizer worker: documents in, blocks out, at least once.

Workers are stateless members of one consumer group. Each poll becomes a record of the log, which
says which offsets it covers; only when the broker has it are those offsets committed, and only then
is the next one sent. A worker that dies in between is followed by one that writes the same stretch
again, and readers drop the repeat.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from consumers.config import Config, StreamSettings
from consumers.kafka.client_types import (
    GroupConsumer,
    Message,
    Producer,
    SendFuture,
    TopicPartition,
)
from consumers.kafka.clients import MAX_RECORD_BYTES, Timeouts, new_group_consumer, new_producer
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
LOOK_SECONDS = 0.2
COMMIT_MS = 3_000
LEAVE_MS = 5_000
LARGEST_BLOCK_BYTES = MAX_RECORD_BYTES - (64 << 10)  # the rest is for what the client adds


class LostDocumentsError(Exception):
    """The source no longer holds documents that were not read; the message says what to do."""


class TokenizerWorker:
    """Reads its share of a stream's documents and writes them to the log of rounds."""

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
        self._counted: tuple[int, list[str]] = (0, [])  # events and dead letters on their way
        self._times: dict[Any, float] = {}  # of each partition, that of the last record read
        self._tokenizer = Tokenizer(stream.profile)
        self._decode = FORMATS[stream.format]
        self._reached: dict[Any, int] = {}  # of each partition, the end of what was read
        self._sent: list[SendFuture] = []  # on its way to the broker
        self._ends: dict[Any, int] = {}  # of each partition, the end of what is to be committed
        make_block([Event("1", "warm up", None, None, None)], self._tokenizer)
        self._producer: Producer = new_producer(config.kafka)
        self._consumer: GroupConsumer = new_group_consumer(
            config.kafka, self._group, instance, stream.block
        )
        self._watch = TopicWatch(config.kafka, stream.documents)
        self._check_log(config)
        self._consumer.subscribe([stream.documents])

    def _check_log(self, config: Config) -> None:
        """Refuse to go on in an empty log if documents were written to it before."""
        if describe_log(config.kafka, self._stream.blocks).end > 0:
            return
        for number in self._consumer.partitions_for_topic(self._stream.documents) or ():
            partition = TopicPartition(self._stream.documents, number)
            reached = self._committed(partition)
            # Looked at once more: another tokenizer may have written and committed meanwhile.
            if reached and describe_log(config.kafka, self._stream.blocks).end == 0:
                raise LogError(
                    f"{self._stream.blocks} is empty, but {self._stream.documents} was read up to "
                    f"{reached}: the log was deleted. Restore it, or start over: reset the "
                    f"offsets of the group {self._group} to the first documents that a new log is "
                    "to hold, and move the snapshots away."
                )

    def run(self, stop: threading.Event) -> None:
        """Work until asked to stop; then finish the block and leave the group."""
        self._stop = stop
        try:
            while not stop.is_set():
                self._step()
            self._settle()
        except BrokerAwayError:
            log.warning("the broker does not answer; leaving without a last commit")
        finally:
            self._consumer.close(autocommit=False, timeout_ms=LEAVE_MS)
            self._producer.close(timeout=LEAVE_MS / 1000)

    def _step(self) -> None:
        """Tokenise the next documents while the block before is on its way to the broker."""
        self._health.moved()
        self._health.ready = self._stable()
        try:
            polled = self._poll()
        except NoOffsetForPartitionError:
            self._begin()
            return
        except OffsetOutOfRangeError as error:
            self._check_source(at_once=True)
            raise LostDocumentsError(
                f"{self._stream.documents} no longer holds documents that were not read yet "
                f"({error}): they were deleted by its retention. To go on without them, set the "
                f"group {self._group} to an offset that exists, and start a new log "
                "(another `blocks` topic), since this one would have a gap."
            ) from None
        for where, messages in polled.items():
            self._times[where] = messages[-1].timestamp / 1000
        self._lag.polled(self._where())
        if not polled:
            self._settle()
            self._check_source()
            return
        stretches, letters = self._read(polled)
        records = list(encode_batches(stretches, self._tokenizer, LARGEST_BLOCK_BYTES))
        self._settle()
        self._sent = [self._bury(message, problem) for message, problem in letters]
        for record in records:
            self._sent.append(self._producer.send(self._stream.blocks, record, partition=0))
        self._ends.update({where: found[-1].offset + 1 for where, found in polled.items()})
        read = sum(len(messages) for messages in polled.values())
        self._counted = (read, [problem.reason for _, problem in letters])

    def _poll(self) -> dict[Any, list[Message]]:
        """The next documents, if any come; while the group changes hands, nothing else is done.

        A join that completes while nobody polls is thrown away by kafka-python, and members that
        work long between short polls can rebalance for ever.
        """
        until = time.monotonic() + JOIN_SECONDS
        while True:
            polled = self._consumer.poll(POLL_MS)
            patient = time.monotonic() < until and not self._stop.is_set()
            if polled or self._stable() or not patient:
                return polled

    def _stable(self) -> bool:
        """Whether this worker is a member of the group, and the group does not change hands."""
        return bool(self._consumer.group_metadata().state == "<stable>")

    def _where(self) -> dict[str, Position]:
        """How far each partition of this worker was read, as far as the broker has said."""
        found = {}
        for where in self._consumer.assignment():
            end = self._consumer.highwater(where)
            if end is not None and where in self._reached:
                name = f"{where.topic}-{where.partition}"
                found[name] = Position(self._reached[where], end, self._times.get(where))
        return found

    def _check_source(self, at_once: bool = False) -> None:
        """Start again if the documents are in another topic of the same name by now."""
        if self._watch.is_gone(at_once):
            raise OSError(f"{self._stream.documents} was deleted, and perhaps made anew")

    def _begin(self) -> None:
        """Partitions that nobody ever read are read from their beginning."""
        for partition in self._consumer.assignment():
            if self._committed(partition) is None:
                self._consumer.seek_to_beginning(partition)

    def _read(
        self, polled: dict[Any, list[Message]]
    ) -> tuple[list[EventBatch], list[tuple[Message, MalformedEvent]]]:
        """The events of a poll, by partition, and the messages that are none."""
        stretches, letters = [], []
        for partition, messages in polled.items():
            first, end = messages[0].offset, messages[-1].offset + 1
            # From where this worker, or the one before it, had come to: offsets without a document
            # (control records) are covered too. Covering something twice does no harm.
            start = min(first, self._from(partition, first))
            number, identity = partition.partition, self._watch.identity
            span = Span(partition.topic, number, start, end, identity)
            stretch = EventBatch(span, [], [], min(message.timestamp for message in messages))
            for message in messages:
                try:
                    event = self._decode(message.value or b"", self._stream.max_event_bytes)
                except MalformedEvent as problem:
                    letters.append((message, problem))
                    continue
                stretch.offsets.append(message.offset)
                stretch.events.append(event)
            stretches.append(stretch)
            self._reached[partition] = end
        return stretches, letters

    def _settle(self) -> None:
        """When the broker has all that was sent, commit the offsets it covers.

        While the group changes hands, or its coordinator does, nothing can be committed. To start
        again for that would make the group change hands once more, and so on; so the offsets wait
        for the next time.
        """
        if self._sent:
            self._wait()
            self._sent = []
            self._metrics.written(*self._counted)
        mine = self._consumer.assignment()
        ends = {where: end for where, end in self._ends.items() if where in mine}
        if ends:
            try:
                self._consumer.commit(offsets_to_commit(ends), timeout_ms=COMMIT_MS)
            except (CommitFailedError, RebalanceInProgressError) as error:
                log.debug("not committed yet: %s", error)
                return
            except KafkaTimeoutError:
                log.warning("the broker takes no offsets; going on, and trying again")
                return
        self._ends = {}
        for partition in self._reached.keys() - mine:
            del self._reached[partition]  # somebody else's by now

    def _wait(self) -> None:
        """Wait for what is on its way to the broker; raises what went wrong with it."""
        leave_at = float("inf")
        for sent in self._sent:
            while not sent.is_done:
                with suppress(KafkaTimeoutError):
                    sent.get(LOOK_SECONDS)
                if self._stop.is_set():
                    leave_at = min(leave_at, time.monotonic() + LEAVE_MS / 1000)
                    if time.monotonic() > leave_at:
                        raise BrokerAwayError
            sent.get(0)

    def _from(self, partition: Any, first: int) -> int:  # noqa: ANN401 - kafka-python's
        """Where this worker had come to, or the group in a partition that is new to the worker."""
        if partition in self._reached:
            return self._reached[partition]
        committed = self._committed(partition)
        return first if committed is None else committed

    def _committed(self, partition: Any) -> int | None:  # noqa: ANN401 - kafka-python's
        """How far the group has come; a broker that does not say so is not waited for for ever."""
        return self._consumer.committed(partition, timeout_ms=Timeouts().request_ms)

    def _bury(self, message: Message, problem: MalformedEvent) -> SendFuture:
        """Send a malformed event to the dead letters, unchanged, with the reason and its origin."""
        origin = f"{message.topic}-{message.partition}-{message.offset}"
        headers: Sequence[tuple[str, bytes]] = [
            ("reason", problem.reason.encode()),
            ("detail", problem.detail.encode()),
            ("topic", message.topic.encode()),
            ("partition", str(message.partition).encode()),
            ("offset", str(message.offset).encode()),
        ]
        topic = self._stream.dead_letters
        return self._producer.send(topic, message.value, origin.encode(), headers)
