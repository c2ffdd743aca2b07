"""Sends dead letters back to the Kafka topic that their event came from, each at most once.

The event and the note that it was sent back are written in one transaction. So a process that is
killed leaves either both or neither, and a later run skips what has a note. The transactional id is
taken before the notes are read. So of two runs at the same time, the first one is fenced: it can no
longer write what the second one also sends.

kafka-python may report the end of a transaction wrongly (`consumers.learner.transactions`). So the
number that a run has sent is counted at its end, from the notes on the broker.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from consumers.dead_letters.corrections import Correction
from consumers.dead_letters.letter import Letter, note_headers
from consumers.dead_letters.topic import LetterTopic
from consumers.kafka.client_types import Header, SendFuture, TransactionalProducer
from consumers.kafka.clients import new_transactional_producer
from consumers.kafka.errors import KafkaError, RefusedError, is_fenced
from consumers.kafka.workarounds import discard_producer
from consumers.kafka_names import send_back_id
from consumers.player.replay_progress import HEADERS as PLAYED
from consumers.settings import Config
from consumers.stream_settings import StreamSettings
from consumers.task import within

DEADLINE_S = 60.0
MOST_LETTERS, MOST_BYTES = 500, 4 << 20  # in one transaction
DEAD_LETTER = "dead_letter"  # the header of an event that was sent back
UNDECODABLE = "undecodable_batch"

FENCED = (
    "another `dead-letters send-back` of the same stream has begun. Wait until it has ended, and "
    "run this command again: what was sent already is skipped"
)

Problem = Callable[[Letter, bytes, bytes | None], str | None]  # why an event cannot be used


@dataclass(slots=True)
class Outcome:
    """What has become of the dead letters that were asked for."""

    sent: int = 0  # according to the broker, at the end
    sendable: int = 0
    already: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)  # place, and why
    reasons: Counter[str] = field(default_factory=Counter)  # of those that are sendable


@dataclass(frozen=True, slots=True)
class Sendable:
    """An event that is ready to be sent back."""

    letter: Letter
    value: bytes
    key: bytes | None

    @property
    def headers(self) -> list[Header]:
        """The headers that the event came with, without a player's, and the name of the letter."""
        headers = [(name, value) for name, value in self.letter.headers if name != DEAD_LETTER]
        if {name for name, _ in headers} >= set(PLAYED):
            # A source that is played again must not find the same event twice.
            headers = [(name, value) for name, value in headers if name not in PLAYED]
        return [*headers, (DEAD_LETTER, self.letter.place.encode())]


class SendBack:
    """One run of `wirerank dead-letters send-back`."""

    def __init__(
        self,
        config: Config,
        stream: StreamSettings,
        topic: LetterTopic,
        problem: Problem,
        dry_run: bool = False,
    ) -> None:
        self._dry_run = dry_run
        self._topic = topic
        self._problem = problem
        self._producer: TransactionalProducer = new_transactional_producer(
            config.kafka, send_back_id(stream.name)
        )
        self._run = secrets.token_hex(8)
        self._waiting: list[Sendable] = []
        self._waiting_bytes = 0
        self._confirmed = 0
        self.outcome = Outcome()

    def begin(self) -> None:
        """Fence other runs, unless nothing is written, and find out what was sent back already."""
        if not self._dry_run:
            within(DEADLINE_S, "init_transactions", self._producer.init_transactions)
        self._topic.refresh()
        self._starts = self._topic.ends
        self._done = self._topic.sent_back()

    def add(self, letter: Letter, correction: Correction | None) -> None:
        """Send a dead letter back, with the next others; or note why it is not sent."""
        if letter.identity in self._done:
            self.outcome.already += 1
            return
        value = letter.value if correction is None else correction.value
        key = correction.key if correction is not None and correction.has_key else letter.key
        why = self._why_not(
            letter, value, key, has_key=correction is not None and correction.has_key
        )
        if why is not None or value is None:
            self.outcome.refused.append((letter.place, why or ""))
            return
        self._done.add(letter.identity)
        self.outcome.sendable += 1
        self.outcome.reasons[letter.reason] += 1
        if self._dry_run:
            return
        self._waiting.append(Sendable(letter, value, key))
        self._waiting_bytes += len(value)
        if len(self._waiting) >= MOST_LETTERS or self._waiting_bytes >= MOST_BYTES:
            self.commit()

    def _why_not(
        self, letter: Letter, value: bytes | None, key: bytes | None, has_key: bool
    ) -> str | None:
        if letter.origin is None:
            return "does not say where its event came from"
        if value is None:
            return "has no content; a deletion cannot be sent back"
        unchanged = value == letter.value
        if unchanged and letter.reason == UNDECODABLE:
            return "is a batch that could not be decoded; send its events again, from their source"
        if unchanged and letter.is_cut:
            return (
                f"is cut: only the first {len(value):,} of {letter.size:,} bytes were kept; give a "
                "correction with the whole event"
            )
        if letter.left_out and not has_key:
            return "was kept without its key and headers; give a correction with a `key`"
        return self._problem(letter, value, key)

    def commit(self) -> None:
        """Write what is waiting and its notes, in one transaction."""
        try:
            if self._waiting:
                self._transact()
        except KafkaError as error:
            if is_fenced(error):
                raise RefusedError(FENCED) from None
            raise
        self._confirmed += len(self._waiting)
        self._waiting, self._waiting_bytes = [], 0

    def _transact(self) -> None:
        producer = self._producer
        producer.begin_transaction()
        futures: list[SendFuture] = []
        for event in self._waiting:
            letter = event.letter
            partition = None if letter.origin is None else letter.origin[0]
            partitions = producer.partitions_for(letter.topic)
            if event.key != letter.key or partition not in partitions:
                partition = None  # as its key says
            futures.append(
                producer.send(letter.topic, event.value, event.key, event.headers, partition)
            )
            note = note_headers(letter, self._run)
            futures.append(
                producer.send(self._topic.name, None, letter.record_key, note, letter.partition)
            )
        within(DEADLINE_S, "flush", lambda: producer.flush(DEADLINE_S))
        for future in futures:
            future.get(0)  # raises if the record was lost
        within(DEADLINE_S, "commit_transaction", producer.commit_transaction)

    def count(self) -> int:
        """How many were sent, by the notes on the broker.

        A broker shows the records of a transaction a moment after it has confirmed the commit. So
        this waits until the notes of all transactions that were confirmed are there.
        """
        until = time.monotonic() + DEADLINE_S
        while True:
            self._topic.refresh()
            self.outcome.sent = self._topic.count_of_run(self._run, self._starts)
            if self.outcome.sent >= self._confirmed or time.monotonic() > until:
                return self.outcome.sent
            time.sleep(0.1)

    def close(self) -> None:
        """Disconnect; a transaction that is open does not happen."""
        within(10.0, "close", lambda: discard_producer(self._producer))
