"""Writes dead letters and records of the log, and waits until the broker has them."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress

from consumers.kafka.client_types import Producer, SendFuture
from consumers.kafka.clients import MAX_RECORD_BYTES, new_producer
from consumers.kafka.clock import ClockCheck
from consumers.kafka.errors import (
    TOO_LARGE,
    BrokerAwayError,
    KafkaError,
    RefusedError,
)
from consumers.kafka.topics import record_limit
from consumers.settings import Config
from consumers.stream_settings import StreamSettings
from consumers.tokenizer.dead_letter import OVERHEAD_BYTES, DeadLetter

log = logging.getLogger(__name__)

WAIT_SECONDS = 0.2
STOP_SECONDS = 5.0


class FailedSend:
    """A record that could not even be sent, in the form of one that was."""

    is_done = True

    def __init__(self, error: KafkaError) -> None:
        self.exception: Exception | None = error

    def succeeded(self) -> bool:
        """Whether the broker has acknowledged it."""
        return False

    def get(self, timeout: float | None = None) -> None:
        """Raise the error."""
        if self.exception is not None:
            raise self.exception


class Delivery:
    """The records that were sent and are not acknowledged yet."""

    def __init__(self, config: Config, stream: StreamSettings, clock: ClockCheck) -> None:
        self._stream = stream
        self._clock = clock
        self._sent = time.time()  # when the last record was sent, by the clock of this machine
        self.stop = threading.Event()
        limit = record_limit(config.kafka, stream.dead_letters) or MAX_RECORD_BYTES
        self._max_letter_bytes = min(limit, MAX_RECORD_BYTES) - OVERHEAD_BYTES
        self._producer: Producer = new_producer(config.kafka)
        # An idempotent producer of kafka-python refuses everything after a record was too large.
        # Dead letters are written at least once, so theirs need not be idempotent.
        self._letters: Producer = new_producer(config.kafka, enable_idempotence=False)

    def send_record(self, record: bytes) -> SendFuture:
        """Send a record of the log; the one before must have been waited for."""
        self._sent = time.time()
        return self._producer.send(self._stream.blocks, record, partition=0)

    def send_dead_letter(self, letter: DeadLetter) -> SendFuture:
        """Send a dead letter, cut to what its Kafka topic accepts.

        An error is left to `wait_for_dead_letter`, because others of the same poll may succeed.
        """
        fitting = letter.cut(self._max_letter_bytes)
        topic = self._stream.dead_letters
        try:
            return self._letters.send(topic, fitting.value, fitting.key, fitting.headers)
        except KafkaError as error:
            return FailedSend(error)

    def wait_for_record(self, future: SendFuture) -> None:
        """Wait until the broker has a record; raises the error if it was not written."""
        self._wait(future)
        try:
            future.get(0)
        except TOO_LARGE as error:
            raise RefusedError(
                f"{self._stream.blocks} does not accept a record that is within the limit "
                f"({error}): set its max.message.bytes to {MAX_RECORD_BYTES}."
            ) from None
        self._clock.acknowledged(self._sent, future)

    def wait_for_dead_letter(self, letter: DeadLetter, future: SendFuture) -> None:
        """Wait until the broker has a dead letter, cutting it further if it is still too large.

        The limit of a Kafka topic can be lowered at any time.
        """
        while True:
            self._wait(future)
            try:
                future.get(0)
            except TOO_LARGE as error:
                kept = min(len(letter.value or b""), self._max_letter_bytes)
                if kept == 0:
                    raise RefusedError(
                        f"{self._stream.dead_letters} does not even accept a dead letter without "
                        f"its event ({error}): raise its max.message.bytes."
                    ) from None
                self._max_letter_bytes = kept // 2
                log.warning(
                    "%s does not accept %s bytes: dead letters are now cut to %s bytes",
                    self._stream.dead_letters, f"{kept:,}", f"{self._max_letter_bytes:,}",
                )  # fmt: skip
                future = self.send_dead_letter(letter)
            else:
                return

    def _wait(self, future: SendFuture) -> None:
        """Wait until a record is written or has failed; not for long once asked to stop."""
        give_up_at = float("inf")
        while not future.is_done:
            with suppress(KafkaError):  # the caller asks again, and gets the error if it failed
                future.get(WAIT_SECONDS)
            if self.stop.is_set():
                give_up_at = min(give_up_at, time.monotonic() + STOP_SECONDS)
                if time.monotonic() > give_up_at:
                    raise BrokerAwayError

    def close(self) -> None:
        """Disconnect."""
        self._producer.close(timeout=STOP_SECONDS)
        self._letters.close(timeout=STOP_SECONDS)
