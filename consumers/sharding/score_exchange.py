"""The exchange of scores between the shards of a lane, through a topic of one partition.

A shard gives its payload of exchange k + 1 only after it has read all payloads of exchange k in the
topic, its own among them. From this everything else follows:

- when `swap` returns, all of that exchange is in the topic, and a restart finds it there;
- in the topic all of exchange k comes before anything of exchange k + 1. So a reader that goes
  through it record by record, and stops where an exchange is whole, never has to keep anything of a
  later one, and where it stopped is where a restart must begin;
- whoever meets a later exchange first has begun too late, or the topic was cut.

What was given twice, by a shard that was started again or that did not hear from the broker in
time, comes again later, and is nothing then.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from consumers.config import KafkaSettings
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
from consumers.sharding.score_records import Gathering, ScoreRecords, split
from consumers.task import Task

POLL_MS = 100  # how soon a wish to stop, or a record that could not be written, is noticed
# Memory: the payloads of one exchange (MOST_PAYLOAD_BYTES a shard), and the records of one poll.
RECORDS_A_POLL = 16
SAY_AFTER_S, SAY_AGAIN_S = 3.0, 30.0
# A producer of kafka-python that finds no broker for its very first record keeps that for ever; one
# that had written before gives up by itself.
GIVE_UP_S = 30.0

log = logging.getLogger(__name__)


class StoppedError(Exception):
    """Somebody asked to stop while there was something to wait for; nothing is lost by that."""


class KafkaExchange:
    """The other shards of a lane, over Kafka.

    `begin` is where in the topic to read from: `position` of when the state was kept that this
    shard starts with, or None for all that is there. Records of another `epoch` are nothing; it
    stands for all that the payloads depend on: the lane, the number of shards, the log.

    To be used by one thread; the numbers for metrics may be read by others. After an error it can
    only be closed, and be asked for its `position`.
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
    ) -> None:
        if not 0 <= shard < shards:
            raise ValueError(f"there is no shard {shard} of {shards}; they are numbered from 0")
        self.shard = shard
        self.shards = shards
        self.waiting_for: tuple[int, ...] = ()  # shards of which something is missing just now
        self._lane = lane
        self._stop = stop
        self._waiting = waiting  # told now and then how long an exchange has been waited for
        self._bootstrap = settings.bootstrap
        self._source = TopicPartition(topic, 0)
        self._records = ScoreRecords(topic, stream, lane, epoch, shards)
        self._unread: deque[Message] = deque()
        self._next: int | None = None  # exchange
        self._failed = False
        self._watch = TopicWatch(settings, topic)
        self._looked = time.monotonic()
        self._looking: Task[bool] | None = None
        if not self._watch.identity:
            raise self._cut("does not exist")
        self._consumer: Consumer = new_consumer(settings, isolation_level="read_uncommitted")
        try:
            self._begin(begin)
            delivery_ms = max(int(GIVE_UP_S * 1000), Timeouts().delivery_ms)
            self._producer = new_producer(settings, linger_ms=0, delivery_timeout_ms=delivery_ms)
        except BaseException:
            self._consumer.close(autocommit=False, timeout_ms=1000)
            raise
        try:
            self._producer.partitions_for(topic)  # the first record need not wait for this then
        except BaseException:
            self.close()
            raise

    def _begin(self, begin: int | None) -> None:
        """Go to where reading begins, if that is still there."""
        where = [self._source]
        first = self._consumer.beginning_offsets(where)[self._source]
        end = self._consumer.end_offsets(where)[self._source]
        self._offset = self._settled = first if begin is None else begin
        if not first <= self._offset <= end:
            raise self._cut(f"has no offset {begin}; it reaches from {first} to {end}")
        self._consumer.assign(where)
        self._consumer.seek(self._source, self._offset)
        # Up to here it may hold what this shard gave before it was started again.
        self._former_end = end

    def _cut(self, found: str) -> LogError:
        return LogError(
            f"{self._source.topic} {found}. What the shards of lane {self._lane} gave each other "
            "there was deleted since this shard's snapshot was taken (is retention.ms of the topic "
            "too short?), or the topic is another one. Start this shard with a newer snapshot, or "
            "all shards anew: empty snapshot folders, and this topic deleted."
        )

    def swap(self, number: int, mine: bytes) -> list[bytes]:
        """Give this shard's part of the exchange `number`, and wait for the parts of all.

        Raises `StoppedError` if asked to stop meanwhile.
        """
        if self._failed or self._next not in (None, number):
            raise ValueError(f"exchange {number} is not the next one; that is {self._next}")
        self._next, self._failed = number, True
        self._began = time.monotonic()
        gathering = Gathering(self.shards, split(number, self.shard, mine))
        self._gather(gathering)
        self._next, self._failed = number + 1, False
        self._settled = self._offset
        return gathering.payloads()

    def position(self, number: int) -> int:
        """Where a restart must begin in order to find all of the exchange `number` and later ones.

        It must be the next exchange, also if that was begun and not ended.
        """
        if self._next not in (None, number):
            raise ValueError(f"exchange {number} is not the next one; that is {self._next}")
        return self._settled

    def _gather(self, gathering: Gathering) -> None:
        """Read until an exchange is whole; give what is not there, as soon as that is certain."""
        sent: list[SendFuture] | None = None
        patience = Patience(self._lane, self.shard, self.shards, self._bootstrap)
        try:
            while not gathering.whole:
                if sent is None and self._has_caught_up():
                    sent = self._give(gathering)
                    patience.begin()
                if not self._unread:
                    self.waiting_for = gathering.missing
                    self._wait(sent or ())
                    if self._unread and self.shard in gathering.missing:
                        patience.begin()  # the broker is there, with much to read
                self._take(gathering)
                patience.look(gathering)
        finally:
            self.waiting_for = ()

    def _has_caught_up(self) -> bool:
        """Whether everything was read that this shard can have given before it was started."""
        if self._offset >= self._former_end:
            return True
        # The last offsets of a topic need not be records.
        return not self._unread and self._consumer.position(self._source) >= self._former_end

    def _give(self, gathering: Gathering) -> list[SendFuture]:
        """Send what of this shard's payload is not in the topic."""
        sent = []
        for part in gathering.not_given():
            key, value = self._records.written(part)
            sent.append(self._producer.send(self._source.topic, value, key, partition=0))
        return sent

    def _wait(self, sent: Sequence[SendFuture]) -> None:
        """Wait a moment for records; raises what went wrong with those that are on their way."""
        for failed in (each.exception for each in sent if each.is_done):
            if isinstance(failed, MessageSizeTooLargeError):
                raise TopicError(
                    f"{self._source.topic} does not take records of {PART_BYTES:,} bytes and what "
                    "belongs to them: set its max.message.bytes to a million or more."
                )
            if failed is not None:
                raise failed
        if self._stop.is_set():
            raise StoppedError(f"lane {self._lane}: stopped while waiting for other shards")
        self._waiting(time.monotonic() - self._began)
        try:
            polled = self._consumer.poll(POLL_MS, max_records=RECORDS_A_POLL)
        except OffsetOutOfRangeError:
            raise self._cut(f"has no offset {self._offset} any more") from None
        self._unread.extend(polled.get(self._source, ()))
        if not self._unread and self._is_gone():
            raise self._cut("was deleted")

    def _is_gone(self) -> bool:
        """Whether the topic was deleted; a thread asks now and then, since it may take long."""
        if self._looking is None and time.monotonic() - self._looked > WATCH_SECONDS:
            self._looking = Task("look for the scores topic", lambda: self._watch.is_gone(True))
        if self._looking is None or not self._looking.done():
            return False
        gone = self._looking.result(0)
        self._looked, self._looking = time.monotonic(), None
        return gone

    def _take(self, gathering: Gathering) -> None:
        """Go through what was read, up to where the exchange is whole."""
        while self._unread and not gathering.whole:
            message = self._unread.popleft()
            part = self._records.read(message, least=gathering.number)
            if part is not None and part.number > gathering.number:
                missing = ", ".join(f"{shard}/{self.shards}" for shard in gathering.missing)
                raise self._cut(
                    f"holds exchange {part.number} at offset {message.offset}, but lacks what "
                    f"comes before: exchange {gathering.number} of shard {missing}"
                )
            if part is not None:
                gathering.take(part, self._records.called(message))
            self._offset = message.offset + 1

    def close(self) -> None:
        """Let the broker go."""
        discard_producer(self._producer)
        self._consumer.close(autocommit=False, timeout_ms=1000)


class Patience:
    """Says in the log for whom an exchange waits, if it takes long."""

    def __init__(self, lane: str, shard: int, shards: int, bootstrap: str) -> None:
        self._lane = lane
        self._shard = shard
        self._shards = shards
        self._bootstrap = bootstrap
        self._named: set[str] = set()
        self._began = time.monotonic()
        self.begin()

    def begin(self) -> None:
        """Count the time from now on."""
        self._since = time.monotonic()
        self._say_at = self._since + SAY_AFTER_S

    def look(self, gathering: Gathering) -> None:
        """Say whom the exchange waits for, if it is time to, or that they are back.

        Raises `KafkaTimeoutError` when the broker is away for too long: another client may find it.
        """
        now = time.monotonic()
        where = f"(exchange {gathering.number})"
        if gathering.whole and self._named:
            log.warning(
                "lane %s: heard from %s again after %.0f s %s",
                self._lane, ", ".join(sorted(self._named)), now - self._began, where,
            )  # fmt: skip
        elif not gathering.whole and now >= self._say_at:
            waited_for = self._waited_for(gathering)
            self._named.update(waited_for)
            self._say_at = now + SAY_AGAIN_S
            log.warning(
                "lane %s: waiting since %.0f s for %s %s",
                self._lane, now - self._since, ", ".join(waited_for), where,
            )  # fmt: skip

        if self._shard in gathering.missing and now - self._since > GIVE_UP_S:
            raise KafkaTimeoutError(
                f"lane {self._lane}: nothing came from the broker at {self._bootstrap} "
                f"for {GIVE_UP_S:.0f} s {where}"
            )

    def _waited_for(self, gathering: Gathering) -> list[str]:
        """Other shards; but the broker, if not even what this one gave comes back."""
        if self._shard in gathering.missing:
            return [f"the broker at {self._bootstrap}"]
        return [f"shard {shard}/{self._shards}" for shard in gathering.missing]
