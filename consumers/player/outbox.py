"""Sends records in order, few at a time, and checks that each one is acknowledged.

kafka-python's producer queues records without bound. It drops a record whose timeout is over, and
still sends the next one. So records are counted here, and this module's timeout, which stops
everything, is shorter than the producer's.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from consumers.kafka.client_types import Header, Producer, SendFuture
from consumers.kafka.clients import MAX_RECORD_BYTES
from consumers.kafka.errors import KafkaError, MessageSizeTooLargeError, describe_error
from consumers.player.replay_progress import MOST_IN_FLIGHT

MOST_BYTES_IN_FLIGHT = 32 << 20
LOOK_S = 0.2
REPORT_AFTER_S = 5.0
GIVE_UP_AFTER_S = 120.0
NEVER_MS = 24 * 3600 * 1000  # the producer's own timeout; GIVE_UP_AFTER_S comes first


class UndeliveredError(Exception):
    """A record was not written; the message says which, and what to do."""


class InterruptedWaiting(Exception):  # noqa: N818 - nothing went wrong
    """The user asked to stop during a wait."""


class EventRecord(NamedTuple):
    """An event as a record to be sent."""

    partition: int
    key: bytes | None
    value: bytes
    headers: list[Header]


class UnacknowledgedRecord(NamedTuple):
    """A record that the broker has not acknowledged yet."""

    future: SendFuture
    completes: int  # the value of `Outbox.complete` once this record is acknowledged
    size: int


class Outbox:
    """Writes records to a topic in order, and tracks how far the broker has acknowledged them.

    `complete` is the number that came with the last record up to which all are acknowledged.
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
        self._in_flight: deque[UnacknowledgedRecord] = deque()
        self._bytes = 0
        self._last_answer = time.monotonic()
        self._reported = False
        self.written = 0

    def make_room(self) -> None:
        """Wait while too many records are in flight; to be called before each `send`."""
        self.check()
        while len(self._in_flight) >= MOST_IN_FLIGHT or self._bytes >= MOST_BYTES_IN_FLIGHT:
            self._wait()

    def send(self, record: EventRecord, completes: int) -> None:
        """Send a record; `complete` becomes `completes` when it is acknowledged."""
        if not self._in_flight:
            self._last_answer = time.monotonic()
        try:
            future = self._producer.send(
                self._topic, record.value, record.key, record.headers, record.partition
            )
        except (KafkaError, ValueError) as error:
            raise undelivered(self._topic, error, len(record.value)) from error
        self._in_flight.append(UnacknowledgedRecord(future, completes, len(record.value)))
        self._bytes += len(record.value)

    def check(self) -> None:
        """Process the acknowledgements that have arrived; raises if one is an error or overdue."""
        while self._in_flight and self._in_flight[0].future.is_done:
            future, completes, size = self._in_flight.popleft()
            if future.exception is not None:
                raise undelivered(self._topic, future.exception, size)
            self.complete = max(self.complete, completes)
            self.written += 1
            self._bytes -= size
            self._last_answer = time.monotonic()
            if self._reported:
                self._say("the broker answers again")
                self._reported = False
        if not self._in_flight:
            return
        silent = time.monotonic() - self._last_answer
        if silent > REPORT_AFTER_S and not self._reported:
            self._say(f"the broker has not answered for {silent:.0f} s; waiting for it")
            self._reported = True
        if silent > GIVE_UP_AFTER_S:
            raise UndeliveredError(f"The broker has not answered for {silent:.0f} s.")

    def drain(self, seconds: float | None = None) -> bool:
        """Wait for all acknowledgements, or until the time is over; says whether all arrived."""
        until = None if seconds is None else time.monotonic() + seconds
        while self._in_flight and (until is None or time.monotonic() < until):
            self._wait(until_stopped=seconds is None)
        return not self._in_flight

    def _wait(self, until_stopped: bool = True) -> None:
        """Wait a moment for the oldest record."""
        if self._asked_to_stop() and until_stopped:
            raise InterruptedWaiting
        with suppress(KafkaError):  # `check` tells a failed record from a timeout
            self._in_flight[0].future.get(LOOK_S)
        self.check()


def undelivered(topic: str, error: Exception, size: int) -> UndeliveredError:
    """The error that says why a record was not written, and what to do."""
    if isinstance(error, MessageSizeTooLargeError):
        return UndeliveredError(
            f"An event of {size:,} bytes is larger than {topic} accepts. Raise max.message.bytes "
            f"of the topic (up to {MAX_RECORD_BYTES:,}), or lower --max-event-bytes: longer events "
            "are then cut off, and become dead letters."
        )
    return UndeliveredError(f"{topic} cannot be written: {describe_error(error)}.")
