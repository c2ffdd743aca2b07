"""A tokenizer worker: documents in, blocks out, at least once.

Workers are stateless members of one consumer group. Each poll becomes one record of the log, which
says which offsets it covers; only when the broker has it are those offsets committed. A worker that
dies in between is followed by one that writes the same stretch again, and readers drop the repeat.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from kafka.errors import NoOffsetForPartitionError, OffsetOutOfRangeError

from consumers.clients import (
    GroupConsumer,
    Message,
    Producer,
    Sent,
    committable,
    new_group_consumer,
    new_producer,
)
from consumers.config import Config, StreamSettings
from pipeline.blocks import make_block
from pipeline.events import Event, MalformedEvent
from pipeline.formats import FORMATS
from pipeline.log import LogRecord, Span, encode_record
from pipeline.tokenizer import Tokenizer

log = logging.getLogger(__name__)

POLL_MS = 200
# A join that completes while nobody polls is thrown away by kafka-python, and members that work
# long between short polls can rebalance for ever; a long poll until the group is stable helps.
JOIN_POLL_MS = 5000
FLUSH_SECONDS = 30.0


class LostDocumentsError(Exception):
    """The source no longer holds documents that were not read; the message says what to do."""


def group_of(stream: StreamSettings) -> str:
    """The consumer group of a stream's tokenizers."""
    return f"wirerank.{stream.name}.tokenize"


class TokenizerWorker:
    """Reads its share of a stream's documents and writes them to the log of rounds."""

    def __init__(self, config: Config, stream: StreamSettings, instance: str) -> None:
        self._stream = stream
        self._tokenizer = Tokenizer(stream.profile)
        self._decode = FORMATS[stream.format]
        self._reached: dict[Any, int] = {}  # of each partition, the end of what was written
        self._producer: Producer = new_producer(config.kafka)
        self._consumer: GroupConsumer = new_group_consumer(
            config.kafka, group_of(stream), instance, stream.block
        )
        self._consumer.subscribe([stream.documents])

    def run(self, stop: threading.Event) -> None:
        """Work until asked to stop; then finish the block and leave the group."""
        try:
            while not stop.is_set():
                self._step()
        finally:
            self._consumer.close(autocommit=False)
            self._producer.close(timeout=FLUSH_SECONDS)

    def _step(self) -> None:
        stable = self._consumer.group_metadata().state == "<stable>"
        try:
            polled = self._consumer.poll(POLL_MS if stable else JOIN_POLL_MS)
        except NoOffsetForPartitionError:
            self._begin()
            return
        except OffsetOutOfRangeError as error:
            raise LostDocumentsError(
                f"{self._stream.documents} no longer holds documents that were not read yet "
                f"({error}): they were deleted by its retention. Set the group "
                f"{group_of(self._stream)} to an offset that exists, and start a new log."
            ) from None
        if polled:
            self._write(polled)

    def _begin(self) -> None:
        """Partitions that nobody ever read are read from their beginning."""
        for partition in self._consumer.assignment():
            if self._consumer.committed(partition) is None:
                self._consumer.seek_to_beginning(partition)

    def _write(self, polled: dict[Any, list[Message]]) -> None:
        """Write one record for one poll, and commit its offsets when the broker has it."""
        spans, ends = [], {}
        events: list[Event] = []
        span_of: list[int] = []
        offsets: list[int] = []
        sent: list[Sent] = []
        for partition, messages in polled.items():
            first, end = messages[0].offset, messages[-1].offset + 1
            # From where this worker, or the one before it, had come to: offsets without a document
            # (control records) are covered too. Covering something twice does no harm.
            start = min(first, self._reached.get(partition, self._from(partition, first)))
            spans.append(Span(partition.topic, partition.partition, start, end))
            ends[partition] = end
            for message in messages:
                try:
                    event = self._decode(message.value or b"", self._stream.max_event_bytes)
                except MalformedEvent as problem:
                    sent.append(self._bury(message, problem))
                    continue
                events.append(event)
                span_of.append(len(spans) - 1)
                offsets.append(message.offset)
        record = LogRecord(
            make_block(events, self._tokenizer),
            tuple(spans),
            np.array(span_of, np.int64),
            np.array(offsets, np.int64),
        )
        sent.append(self._producer.send(self._stream.blocks, encode_record(record), partition=0))
        self._producer.flush(FLUSH_SECONDS)
        for future in sent:
            future.get(0)
        self._consumer.commit(committable(ends))
        self._reached.update(ends)
        for partition in self._reached.keys() - self._consumer.assignment():
            del self._reached[partition]  # somebody else's by now

    def _from(self, partition: Any, first: int) -> int:  # noqa: ANN401 - kafka-python's
        """Where the group had come to in a partition that is new to this worker."""
        committed = self._consumer.committed(partition)
        return first if committed is None else committed

    def _bury(self, message: Message, problem: MalformedEvent) -> Sent:
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
