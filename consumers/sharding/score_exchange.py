"""Exchanges scores between the shards of a lane, through a Kafka topic of one partition.

A shard sends its payload of exchange k + 1 only after it has read all payloads of exchange k from
the topic, including its own. From this rule everything else follows:

- When `swap` returns, all payloads of that exchange are in the topic, and a restart finds them.
- In the topic, all of exchange k comes before anything of exchange k + 1. So a reader that stops
  when an exchange is complete never has to keep records of a later one. A restart begins at the
  offset where the reader stopped.
- A reader that meets a record of a later exchange has started too late, or the topic was cut.

A shard that was restarted, or that did not hear from the broker in time, may send a payload twice.
Duplicates arrive later; they are ignored.

With each payload a shard says how many records of the log wait for it. What shard 0 says decides
how many records all shards take next as one block (`shared_blocks`).

Shards on one machine need not exchange anything while they take a segment (`meeting_place`). Then
one exchange records what they found, so that a restart finds it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from consumers.kafka.client_types import Consumer, Message, SendFuture, TopicPartition
from consumers.kafka.clients import PART_BYTES, Timeouts, new_consumer, new_producer
from consumers.kafka.errors import (
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    OffsetOutOfRangeError,
)
from consumers.kafka.log_reader import LogError
from consumers.kafka.topics import WATCH_SECONDS, TopicError, TopicWatch
from consumers.kafka.workarounds import discard_producer
from consumers.settings import KafkaSettings
from consumers.sharding.score_records import ExchangeParts, ScoreRecords, split
from consumers.task import Task
from learners.sharding.exchange import APART, TOGETHER, OutvotedError, Sent
from learners.sharding.meeting_place import MeetingPlace

POLL_MS = 100  # how soon a request to stop, or a record that was not written, is noticed
# Memory: the payloads of one exchange (MAX_PAYLOAD_BYTES per shard) and the records of one poll.
RECORDS_PER_POLL = 16
LOG_AFTER_S, LOG_AGAIN_S = 3.0, 30.0
LOOK_AFTER_S = 0.2  # how long a shard waits in shared memory before it looks into the topic
# A producer of kafka-python that finds no broker for its very first record waits for ever; one that
# has written before gives up by itself.
GIVE_UP_S = 30.0

log = logging.getLogger(__name__)


class StoppedError(Exception):
    """The worker was asked to stop while it waited for other shards; nothing is lost by that."""


class KafkaExchange:
    """The exchange with the other shards of a lane, over Kafka.

    `begin` is the offset of the topic to read from: `position` at the time of the snapshot that
    this shard starts from, or None for the beginning. `epoch` stands for everything that the
    payloads depend on: the settings of the lane, the number of shards, the log. Records of another
    epoch are ignored.

    Only one thread may use an exchange; others may read `waiting_for`. After an error it can only
    be closed and asked for its `position`.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        stream: str,
        lane: str,
        epoch: str,
        shard: int,
        shards: int,
        begin: int | None,
        stop: threading.Event,
        waiting: Callable[[float], None] = lambda seconds: None,
        own_backlog: Callable[[], int] = lambda: 0,
        place: MeetingPlace | None = None,
    ) -> None:
        if not 0 <= shard < shards:
            raise ValueError(f"there is no shard {shard} of {shards}; they are numbered from 0")
        self.shard = shard
        self.shards = shards
        self.place = place
        self.waiting_for: tuple[int, ...] = ()  # the shards whose payload is missing now
        self.backlog = 0  # of shard 0, in the last exchange
        self._lane = lane
        self._stop = stop
        self._waiting = waiting  # called now and then with the seconds that an exchange has taken
        self._own_backlog = own_backlog
        self._bootstrap = settings.bootstrap
        self._source = TopicPartition(topic, 0)
        self._records = ScoreRecords(topic, stream, lane, epoch, shards)
        self._unread: deque[Message] = deque()
        self._next: int | None = None  # the number of the next exchange
        self._parts: ExchangeParts | None = None  # of it, if something of it may have been read
        self._memory_wait: ExchangeWait | None = None
        self._mark: int | None = None  # of the last exchange
        self._failed = False
        self._watch = TopicWatch(settings, topic)
        self._last_check = time.monotonic()
        self._checking: Task[bool] | None = None
        if not self._watch.identity:
            raise self._lost("does not exist")
        self._consumer: Consumer = new_consumer(settings, isolation_level="read_uncommitted")
        try:
            self._seek(begin)
            delivery_ms = max(int(GIVE_UP_S * 1000), Timeouts().delivery_ms)
            self._producer = new_producer(settings, linger_ms=0, delivery_timeout_ms=delivery_ms)
        except BaseException:
            self._consumer.close(autocommit=False, timeout_ms=1000)
            raise
        try:
            self._producer.partitions_for(topic)  # so that the first record need not wait for it
        except BaseException:
            self.close()
            raise

    def _seek(self, begin: int | None) -> None:
        """Seek to the offset where reading begins; raises `LogError` if it was deleted."""
        partitions = [self._source]
        first = self._consumer.beginning_offsets(partitions)[self._source]
        end = self._consumer.end_offsets(partitions)[self._source]
        self._offset = self._restart_offset = first if begin is None else begin
        if not first <= self._offset <= end:
            raise self._lost(f"has no offset {begin}; it reaches from {first} to {end}")
        self._consumer.assign(partitions)
        self._consumer.seek(self._source, self._offset)
        # Records before this offset may be payloads that this shard sent before its restart.
        self._former_end = end

    def _lost(self, problem: str) -> LogError:
        return LogError(
            f"{self._source.topic} {problem}. The scores of lane {self._lane} in it were deleted "
            "after this shard's snapshot was taken (is retention.ms of the Kafka topic too "
            "short?), or the Kafka topic was replaced. Start this shard with a newer snapshot, or "
            "start all shards from scratch: empty their snapshot folders, and delete this topic "
            "from Kafka."
        )

    def swap(
        self, number: int, part: bytes, *, adopt: bool = False, mark: int = APART
    ) -> list[bytes]:
        """Send the payload of this shard in exchange `number`; returns the payloads of all shards.

        With `adopt`, another payload that this shard sent before a restart counts, not this one.
        Raises `StoppedError` if asked to stop meanwhile, and `OutvotedError` if the first payload
        in the topic has another mark. The exchange can be tried again then.
        """
        parts = self._parts_of(number)
        self._end_memory_wait(number)
        self._failed = True
        self._began = time.monotonic()
        parts.give(split(number, self.shard, part, self._own_backlog(), mark), adopt=adopt)
        try:
            self._collect(parts, mark)
        except OutvotedError:
            self._failed = False
            raise
        self._next, self._parts, self._failed = number + 1, None, False
        self._restart_offset = self._offset
        self.backlog = parts.backlog
        self._log_mark(mark)
        return parts.payloads()

    def _log_mark(self, mark: int) -> None:
        """Log how the shards take their segments, when that has changed."""
        if mark != self._mark:
            self._mark = mark
            way = "meet in shared memory" if mark == TOGETHER else "exchange everything over Kafka"
            log.info("lane %s: the shards %s", self._lane, way)

    def _parts_of(self, number: int) -> ExchangeParts:
        """What has arrived of an exchange, which must be the next one."""
        if self._failed:
            raise ValueError(f"exchange {self._next} was not completed; restart the exchange")
        if self._next not in (None, number):
            raise ValueError(f"expected exchange {self._next}, got {number}")
        self._next = number
        if self._parts is None:
            self._parts = ExchangeParts(number, self.shard, self.shards)
        return self._parts

    def sent(self, number: int) -> Sent | None:
        """The first payload of the next exchange, if it is known; see `Exchange.sent`.

        After a restart, everything is known that was in the topic then.
        """
        parts = self._parts_of(number)
        self._began = time.monotonic()
        wait = ExchangeWait(self._lane, self.shard, self.shards, self._bootstrap)
        self._read_into(parts)
        while parts.sent() is None and not self._has_caught_up():
            self._poll(())
            if self._unread:
                wait.restart()
            self._read_into(parts)
            wait.check(number, (self.shard,))
        return parts.sent()

    def _end_memory_wait(self, number: int) -> None:
        """Log that a shard is there again that this one has waited for in shared memory."""
        if self._memory_wait is not None:
            self._memory_wait.check(number, ())
            self._memory_wait = None

    def look(self, number: int, missing: Sequence[int], seconds: float) -> Sent | None:
        """Look around while this shard waits in shared memory; see `Exchange.look`."""
        if self._stop.is_set():
            raise self._stopped()
        if seconds < LOOK_AFTER_S or not missing:
            self._end_memory_wait(number)
            return None
        if self._memory_wait is None:
            self._memory_wait = ExchangeWait(
                self._lane, self.shard, self.shards, self._bootstrap, seconds
            )
        parts = self._parts_of(number)
        self._began = time.monotonic() - seconds
        self.waiting_for = tuple(missing)
        try:
            self._poll(())
        finally:
            self.waiting_for = ()
        self._read_into(parts)
        self._memory_wait.check(number, missing)
        return parts.sent()

    def position(self, number: int) -> int:
        """The offset where a restart must begin, to find exchange `number` and all later ones.

        `number` must be the next exchange, or one that was begun and not ended.
        """
        if self._next not in (None, number):
            raise ValueError(f"expected exchange {self._next}, got {number}")
        return self._restart_offset

    def _collect(self, parts: ExchangeParts, mark: int) -> None:
        """Read until the exchange is complete; send own parts once they are known to be missing."""
        futures: list[SendFuture] | None = None
        wait = ExchangeWait(self._lane, self.shard, self.shards, self._bootstrap)
        try:
            while not parts.complete:
                if parts.mark not in (None, mark):
                    raise OutvotedError
                if futures is None and self._has_caught_up():
                    futures = self._send_missing(parts)
                    wait.restart()
                if not self._unread:
                    self.waiting_for = parts.missing
                    self._poll(futures or ())
                    if self._unread and self.shard in parts.missing:
                        wait.restart()  # the broker answers, and there is much to read
                self._read_into(parts)
                wait.check(parts.number, parts.missing)
            if parts.mark != mark:
                raise OutvotedError
        finally:
            self.waiting_for = ()

    def _has_caught_up(self) -> bool:
        """Whether all records were read that this shard may have sent before its restart."""
        if self._offset >= self._former_end:
            return True
        # The last offsets of a topic need not be records.
        return not self._unread and self._consumer.position(self._source) >= self._former_end

    def _send_missing(self, parts: ExchangeParts) -> list[SendFuture]:
        """Send the parts of this shard's payload that are not in the topic."""
        futures = []
        for part in parts.own_missing():
            key, value = self._records.encode(part)
            futures.append(self._producer.send(self._source.topic, value, key, partition=0))
        return futures

    def _poll(self, futures: Sequence[SendFuture]) -> None:
        """Wait a moment for records; raises the error of a record that could not be sent."""
        for error in (future.exception for future in futures if future.is_done):
            if isinstance(error, MessageSizeTooLargeError):
                raise TopicError(
                    f"{self._source.topic} does not accept records of {PART_BYTES:,} bytes plus "
                    "key and headers: set its max.message.bytes to a million or more."
                )
            if error is not None:
                raise error
        if self._stop.is_set():
            raise self._stopped()
        self._waiting(time.monotonic() - self._began)
        try:
            polled = self._consumer.poll(POLL_MS, max_records=RECORDS_PER_POLL)
        except OffsetOutOfRangeError:
            raise self._lost(f"has no offset {self._offset} any more") from None
        self._unread.extend(polled.get(self._source, ()))
        if not self._unread and self._is_gone():
            raise self._lost("was deleted")

    def _stopped(self) -> StoppedError:
        return StoppedError(f"lane {self._lane}: stopped while waiting for other shards")

    def _is_gone(self) -> bool:
        """Whether the topic was deleted; a thread asks now and then, because that may take long."""
        if self._checking is None and time.monotonic() - self._last_check > WATCH_SECONDS:
            self._checking = Task("check the scores topic", lambda: self._watch.is_gone(True))
        if self._checking is None or not self._checking.done():
            return False
        gone = self._checking.result(0)
        self._last_check, self._checking = time.monotonic(), None
        return gone

    def _read_into(self, parts: ExchangeParts) -> None:
        """Add the parts that were read, until the exchange is complete."""
        while self._unread and not parts.complete:
            message = self._unread.popleft()
            part = self._records.decode(message, first=parts.number)
            if part is not None and part.number > parts.number:
                missing = ", ".join(f"{shard}/{self.shards}" for shard in parts.missing)
                raise self._lost(
                    f"holds exchange {part.number} at offset {message.offset}, but lacks an "
                    f"earlier one: exchange {parts.number} of shard {missing}"
                )
            if part is not None:
                parts.add(part, self._records.describe(message))
            self._offset = message.offset + 1

    def close(self) -> None:
        """Disconnect."""
        discard_producer(self._producer)
        self._consumer.close(autocommit=False, timeout_ms=1000)


class ExchangeWait:
    """Logs which shards an exchange waits for, if it takes long."""

    def __init__(
        self, lane: str, shard: int, shards: int, bootstrap: str, seconds: float = 0.0
    ) -> None:
        self._lane = lane
        self._shard = shard
        self._shards = shards
        self._bootstrap = bootstrap
        self._logged: set[str] = set()
        self._began = time.monotonic() - seconds
        self._since = self._began
        self._log_at = self._since + LOG_AFTER_S

    def restart(self) -> None:
        """Measure the time from now on."""
        self._since = time.monotonic()
        self._log_at = self._since + LOG_AFTER_S

    def check(self, number: int, missing: Sequence[int]) -> None:
        """Log which shards exchange `number` waits for, or that the wait is over.

        Raises `KafkaTimeoutError` if the broker is away for too long: another client may find it.
        """
        now = time.monotonic()
        exchange = f"(exchange {number})"
        if not missing and self._logged:
            log.warning(
                "lane %s: heard from %s again after %.0f s %s",
                self._lane, ", ".join(sorted(self._logged)), now - self._began, exchange,
            )  # fmt: skip
        elif missing and now >= self._log_at:
            names = self._names(missing)
            self._logged.update(names)
            self._log_at = now + LOG_AGAIN_S
            log.warning(
                "lane %s: waiting for %s for %.0f s %s",
                self._lane, ", ".join(names), now - self._since, exchange,
            )  # fmt: skip
        if self._shard in missing and now - self._since > GIVE_UP_S:
            raise KafkaTimeoutError(
                f"lane {self._lane}: nothing came from the broker at {self._bootstrap} "
                f"for {GIVE_UP_S:.0f} s {exchange}"
            )

    def _names(self, missing: Sequence[int]) -> list[str]:
        """The other shards that are missing; the broker, if not even own records come back."""
        if self._shard in missing:
            return [f"the broker at {self._bootstrap}"]
        return [f"shard {shard}/{self._shards}" for shard in missing]
