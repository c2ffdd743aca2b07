"""Records on their way to the broker: never too many, each one's fate looked at.

kafka-python's producer takes records without bound, and one whose time is up is dropped while the
next is still sent. So records are counted here, and time is not up for the producer before it is up
here, where everything then stops.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from kafka.errors import KafkaError, MessageSizeTooLargeError

from consumers.kafka.clients import MAX_RECORD_BYTES, Header, Producer, Sent, in_words
from consumers.player.replay_progress import MOST_IN_FLIGHT

MOST_BYTES_IN_FLIGHT = 32 << 20
LOOK_S = 0.2
SAY_AFTER_S = 5.0
GIVE_UP_AFTER_S = 120.0
NEVER_MS = 24 * 3600 * 1000  # the producer's own limit; ours comes first


class UndeliveredError(Exception):
    """Something was not written; the message says what, and what to do."""


class InterruptedWaiting(Exception):  # noqa: N818 - nothing went wrong
    """Somebody asked to stop while there was something to wait for."""


class Outgoing(NamedTuple):
    """A record to be written."""

    partition: int
    key: bytes | None
    value: bytes
    headers: list[Header]


class InFlight(NamedTuple):
    """A record that the broker has not acknowledged yet."""

    sent: Sent
    completes: int
    size: int


class Outbox:
    """Writes records to a topic, in order, and knows how far the broker has acknowledged them.

    `complete` is the number that came with the last record of which, like of all before it, the
    broker has said that it is written.
    """

    def __init__(
        self,
        producer: Producer,
        topic: str,
        complete: int,
        say: Callable[[str], None],
        asked_to_stop: Callable[[], bool],
    ) -> None:
        self._producer = producer
        self._topic = topic
        self.complete = complete
        self._say = say
        self._asked_to_stop = asked_to_stop
        self._flight: deque[InFlight] = deque()
        self._bytes = 0
        self._heard = time.monotonic()
        self._said = False
        self.written = 0

    def make_room(self) -> None:
        """Wait while too many records are on their way; to be called before each `send`."""
        self.look()
        while len(self._flight) >= MOST_IN_FLIGHT or self._bytes >= MOST_BYTES_IN_FLIGHT:
            self._wait()

    def send(self, record: Outgoing, completes: int) -> None:
        """Write a record, with the number that is complete when this one is acknowledged too."""
        if not self._flight:
            self._heard = time.monotonic()
        try:
            sent = self._producer.send(
                self._topic, record.value, record.key, record.headers, record.partition
            )
        except (KafkaError, ValueError) as error:
            raise undelivered(self._topic, error, len(record.value)) from error
        self._flight.append(InFlight(sent, completes, len(record.value)))
        self._bytes += len(record.value)

    def look(self) -> None:
        """Take note of what the broker has said, or has not."""
        while self._flight and self._flight[0].sent.is_done:
            sent, completes, size = self._flight.popleft()
            if sent.exception is not None:
                raise undelivered(self._topic, sent.exception, size)
            self.complete = max(self.complete, completes)
            self.written += 1
            self._bytes -= size
            self._heard = time.monotonic()
            if self._said:
                self._say("the broker answers again")
                self._said = False
        if not self._flight:
            return
        silent = time.monotonic() - self._heard
        if silent > SAY_AFTER_S and not self._said:
            self._say(f"the broker has not answered for {silent:.0f} s; waiting for it")
            self._said = True
        if silent > GIVE_UP_AFTER_S:
            raise UndeliveredError(f"The broker has not answered for {silent:.0f} s.")

    def drain(self, seconds: float | None = None) -> bool:
        """Wait until everything is written, or for so many seconds; says whether it is."""
        until = None if seconds is None else time.monotonic() + seconds
        while self._flight and (until is None or time.monotonic() < until):
            self._wait(patiently=seconds is not None)
        return not self._flight

    def _wait(self, patiently: bool = False) -> None:
        """Wait a moment for the oldest record."""
        if self._asked_to_stop() and not patiently:
            raise InterruptedWaiting
        with suppress(KafkaError):  # `look` tells a record that failed from time that is up
            self._flight[0].sent.get(LOOK_S)
        self.look()


def undelivered(topic: str, error: Exception, size: int) -> UndeliveredError:
    """Why a record was not written, and what to do."""
    if isinstance(error, MessageSizeTooLargeError):
        return UndeliveredError(
            f"An event of {size:,} bytes is larger than {topic} takes. Raise max.message.bytes of "
            f"the topic (up to {MAX_RECORD_BYTES:,}), or let --max-event-bytes cut events that are "
            "too long to be used."
        )
    return UndeliveredError(f"{topic} cannot be written to: {in_words(error)}.")
