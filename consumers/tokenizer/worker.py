"""A tokenizer worker: reads documents, writes blocks to the log, at least once.

Workers are stateless members of one consumer group. For each poll, in this order:

1. write malformed events to the dead-letter topic, and wait until the broker has them;
2. write the documents as a record of the log, which names the offsets that it covers;
3. wait until the broker has the record, and commit the offsets to the consumer group. Only then is
   the next record written.

What a crash causes: the worker that gets the partitions next reads the same documents again, and
may write them again. Readers of the log drop what an earlier record covers, so nothing is lost and
nothing counts twice. An error, after which the same process tries again, writes nothing again.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, NamedTuple

from consumers.kafka.client_types import Message, SendFuture
from consumers.kafka.clients import MAX_RECORD_BYTES
from consumers.kafka.clock import ClockCheck
from consumers.kafka.errors import BrokerAwayError, KafkaError
from consumers.kafka.log_reader import LogError, describe_log
from consumers.logs import about_event
from consumers.registry.resolver import new_resolver
from consumers.settings import Config
from consumers.stream_settings import StreamSettings
from consumers.tokenizer.dead_letter import DeadLetter
from consumers.tokenizer.decoding import EventDecoder
from consumers.tokenizer.delivery import Delivery
from consumers.tokenizer.document_reader import DocumentReader, Polled
from consumers.tokenizer.schema_waiter import SchemaWaiter
from consumers.tokenizer.suspects import MAX_TRIALS, Suspects
from consumers.tokenizer.time_limit import time_limit
from consumers.tokenizer.written_offsets import Source, WrittenOffsets
from consumers.worker_metrics import WorkerMetrics
from pipeline.events.event import Event, MalformedEvent
from pipeline.events.usability import Usability
from pipeline.log.block import make_block
from pipeline.log.writer import EventBatch, encode_batches
from pipeline.metrics.collectors import TokenizerMetrics
from pipeline.printable import printable
from pipeline.text.tokenizer import Tokenizer

log = logging.getLogger(__name__)

MAX_BLOCK_BYTES = MAX_RECORD_BYTES - (64 << 10)  # the client adds the rest
SentLetters = list[tuple[DeadLetter, SendFuture]]


class Tokenized(NamedTuple):
    """What is to be written for some events."""

    events: int
    records: list[bytes]  # of the log, in order; at least one
    sent: SentLetters  # dead letters, on their way
    stops: dict[Any, int]  # by partition: the offset to commit when all is written


class TokenizerWorker:
    """Reads its partitions of a stream's documents and writes them to the log."""

    def __init__(
        self,
        config: Config,
        stream: StreamSettings,
        instance: str,
        worker_metrics: WorkerMetrics,
        metrics: TokenizerMetrics,
        written: WrittenOffsets,
    ) -> None:
        self._stream = stream
        self._health, self._lag = worker_metrics.health, worker_metrics.lag
        self._metrics = metrics
        self._written = written
        self._tokenizer = Tokenizer(stream.profile)
        self._usability = Usability(kafka=True)
        self._decode = EventDecoder(stream, new_resolver(config, stream, self._health.moved))
        # The record that is not acknowledged yet, how many events it is about, the reasons of the
        # dead letters among them, and the offsets to commit after it.
        self._record: SendFuture | None = None
        self._unacknowledged: tuple[int, list[str]] = (0, [])
        self._to_commit: dict[Any, int] = {}  # by partition
        self._events = self._dead_letters = 0  # acknowledged since the start of this worker
        self._logged_reasons: set[str] = set()  # of dead letters
        make_block([Event("1", "warm up", None, None, None)], self._tokenizer)
        self._delivery = Delivery(config, stream, ClockCheck(self._health.set_clock_ahead))
        self._reader = DocumentReader(config, stream, instance)
        self._schemas = SchemaWaiter(self._decode, self._reader)
        self._suspects = Suspects(self._reader, stream.block)
        self._check_log(config)

    def _check_log(self, config: Config) -> None:
        """Raise `LogError` if the log is empty although documents were written to it."""
        if describe_log(config.kafka, self._stream.blocks).end > 0:
            return
        before = self._reader.logged_before()
        # Checked again: another tokenizer may have written and committed meanwhile.
        if before and describe_log(config.kafka, self._stream.blocks).end == 0:
            raise LogError(
                f"{self._stream.blocks} is empty, but had all documents up to {before}: the log "
                "was deleted. Restore it, or start over: delete the consumer group "
                f"{self._reader.group}, or set its offsets to the first documents that a new log "
                "is to hold, and move the snapshots away."
            )

    def run(self, stop: threading.Event) -> None:
        """Work until asked to stop; then finish the current record and leave the group."""
        self._delivery.stop = stop
        try:
            while not stop.is_set() and not self._reader.input_has_ended():
                self._step(stop)
            self._commit_written()
            log.info(
                "stopped: %s events read, of which %s dead letters; all are written and "
                "acknowledged",
                f"{self._events:,}", f"{self._dead_letters:,}",
            )  # fmt: skip
        except BrokerAwayError:
            log.warning("stopped without a last commit: the broker does not answer")
        finally:
            self._reader.close()
            self._delivery.close()
            self._schemas.close()

    def _step(self, stop: threading.Event) -> None:
        """Tokenize the next documents while the record before is on its way to the broker."""
        self._health.moved()
        self._health.ready = self._reader.is_stable() and not self._schemas.is_away
        polled = self._reader.poll(stop)
        self._lag.polled(self._reader.positions())
        if polled:
            polled = self._schemas.with_schemas(polled, stop)
            if not polled:
                self._commit_written()
                return
        if not polled:
            self._commit_written()
            if not self._to_commit:
                self._reader.commit_gaps(self._suspects.notes())
            self._reader.check_topics()
            return
        self._suspects.begin(polled)
        suspect = self._suspects.single_out(polled)
        if suspect is None:
            self._write(self._tokenize(polled))
        else:
            self._process_alone(polled, suspect)

    def _process_alone(self, polled: Polled, message: Message) -> None:
        """Tokenize and write one suspect record, or bury it."""
        self._commit_written()
        partition = next(p for p, messages in polled.items() if messages[0] is message)
        may_try = self._suspects.begin_trial(partition, message)
        if may_try is None:
            return
        if may_try:
            tokenized = self._tokenize({partition: [message]})
        else:
            tokenized = self._bury(partition, message)
        self._suspects.end_trial(partition, message)
        self._write(tokenized)

    def _bury(self, partition: Any, message: Message) -> Tokenized:  # noqa: ANN401 - kafka-python's
        """A record of the log that covers a message without its event, which is a dead letter."""
        detail = f"{MAX_TRIALS} processes died or hung while they tokenized this event"
        span = self._reader.span(partition, [message])
        log.error("the event at %s is a dead letter: %s", span, detail, extra=about_event(message))
        letter = DeadLetter.of(message, "worker_died", detail)
        batch = EventBatch(span, [], [], message.timestamp)
        records = list(encode_batches([batch], self._tokenizer, MAX_BLOCK_BYTES))
        sent = [(letter, self._delivery.send_dead_letter(letter))]
        return Tokenized(1, records, sent, {partition: span.stop})

    def _tokenize(self, polled: Polled) -> Tokenized:
        """Tokenize what was polled, while its dead letters are on their way."""
        with time_limit(sum(len(m.value or b"") for ms in polled.values() for m in ms)):
            batches, letters = self._decode_events(polled)
            sent = [(letter, self._delivery.send_dead_letter(letter)) for letter in letters]
            self._warn_of_letters(batches, letters)
            records = list(encode_batches(batches, self._tokenizer, MAX_BLOCK_BYTES))
        stops = {p: batch.span.stop for p, batch in zip(polled, batches, strict=True)}
        return Tokenized(sum(map(len, polled.values())), records, sent, stops)

    def _warn_of_letters(self, batches: list[EventBatch], letters: list[DeadLetter]) -> None:
        """Warn if hardly any event can be used."""
        events = sum(len(batch.events) for batch in batches) + len(letters)
        # What a value with the id of a schema looks like is known already.
        keep = not self._stream.needs_registry
        refused = ((x.reason, x.detail, (keep and x.value) or b"") for x in letters)
        warning = self._usability.note(events, refused)
        if warning is not None:
            log.warning("%s", printable(warning.replace("\n ", "")))

    def _decode_events(self, polled: Polled) -> tuple[list[EventBatch], list[DeadLetter]]:
        """The events of a poll, by partition, and the dead letters; none that is written already.

        An event that was written before an error is still covered by the span.
        """
        batches, letters = [], []
        for partition, messages in polled.items():
            span = self._reader.span(partition, messages)
            batch = EventBatch(span, [], [], min(message.timestamp for message in messages))
            for message in messages:
                if self._written.is_written((span.identity, span.partition), message.offset):
                    continue
                try:
                    event = self._decode(message)
                except MalformedEvent as error:
                    letters.append(DeadLetter.of(message, error.reason, error.detail))
                    self._log_letter(message, error.reason)
                    continue
                batch.offsets.append(message.offset)
                batch.events.append(event)
            batches.append(batch)
        return batches, letters

    def _log_letter(self, message: Message, reason: str) -> None:
        """Log a dead letter: the first of each reason, and all of them at level debug.

        The detail is in the dead-letter topic only, because it may quote the event.
        """
        is_first = reason not in self._logged_reasons
        self._logged_reasons.add(reason)
        log.log(
            logging.INFO if is_first else logging.DEBUG,
            "the event at offset %s of %s-%s is a dead letter: %s",
            message.offset, message.topic, message.partition, reason,
            extra=about_event(message),
        )  # fmt: skip

    def _write(self, tokenized: Tokenized) -> None:
        """Write records to the log, once all that comes before them is written.

        A later record must not be in the log without an earlier one, so only the last is left on
        its way.
        """
        self._commit_written()
        self._wait_for_dead_letters(tokenized.sent)
        self._reader.confirm_topics()
        for record in tokenized.records[:-1]:
            self._delivery.wait_for_record(self._delivery.send_record(record))
        self._record = self._delivery.send_record(tokenized.records[-1])
        self._to_commit.update(tokenized.stops)
        self._unacknowledged = tokenized.events, [letter.reason for letter, _ in tokenized.sent]

    def _wait_for_dead_letters(self, sent: SentLetters) -> None:
        """Wait for all dead letters; raises the first error after the others are accounted for."""
        failed: KafkaError | None = None
        for letter, future in sent:
            try:
                self._delivery.wait_for_dead_letter(letter, future)
            except KafkaError as error:
                failed = failed or error
            else:
                source = self._reader.topic_id(letter.topic), letter.partition
                self._written.has_dead_letter(source, letter.offset)
        if failed is not None:
            raise failed

    def _commit_written(self) -> None:
        """Wait until the broker has acknowledged the record, then commit the offsets it covers."""
        if self._record is not None:
            self._delivery.wait_for_record(self._record)
            self._record = None
            for partition, stop in self._to_commit.items():
                self._reader.is_logged(partition, stop)
                self._written.log_covers(self._source(partition), stop)
            events, reasons = self._unacknowledged
            self._metrics.written(events, reasons)
            self._events += events
            self._dead_letters += len(reasons)
        if self._reader.commit(self._to_commit, self._suspects.notes()):
            for partition in self._to_commit:
                self._written.committed(self._source(partition))
            self._to_commit = {}

    def _source(self, partition: Any) -> Source:  # noqa: ANN401 - kafka-python's
        return self._reader.topic_id(partition.topic), partition.partition
