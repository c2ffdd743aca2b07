"""Writes rankings and commits the offset that they belong to in one transaction, exactly once.

kafka-python's transactions fail in five ways. A commit can hang for ever. It can return normally
although a record was lost, or although nothing was committed. Offsets of an aborted transaction can
be committed by the next one. A fenced producer can come back on old brokers.

So the client is not trusted here. Every record must be acknowledged before the commit. A producer
that showed any error is never used again. Every call that could hang has a deadline. After any
doubt, the committed offset on the broker decides whether the transaction happened.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from consumers.kafka.client_types import TopicPartition, TransactionalProducer
from consumers.kafka.clock import ClockCheck
from consumers.kafka.offsets import CommittedOffset, offsets_to_commit, published_offset
from consumers.kafka.workarounds import discard_producer
from consumers.learner.lane_owner import LaneOwner, owner_of
from consumers.task import within
from pipeline.storage.binary_array import BinaryArray

log = logging.getLogger(__name__)


class FencedError(Exception):
    """Another worker publishes the lane now; the message says what to do."""


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Records to be published in one topic."""

    topic: str
    keys: BinaryArray
    values: BinaryArray
    headers: BinaryArray | None = None  # encoded; None: the records have none

    def since(self, first: int) -> RecordBatch:
        """The records from number `first` on."""
        if not first:
            return self
        headers = None if self.headers is None else self.headers.since(first)
        return RecordBatch(self.topic, self.keys.since(first), self.values.since(first), headers)


class ExactlyOncePublisher:
    """Publishes the records of one lane in one transaction with its offset of the log.

    A lane is a consumer group whose committed offset says how far the lane has published. Beside
    the offset is the name of the worker that publishes the lane (`lane_owner`).
    """

    def __init__(
        self,
        source: TopicPartition,
        group: str,
        owner: LaneOwner,
        new_producer: Callable[[], TransactionalProducer],
        committed: Callable[[], CommittedOffset],
        clock: ClockCheck,
        deadline_s: float = 30.0,
        pause_s: float = 0.5,
        attempts: int = 3,
    ) -> None:
        self._source = source
        self._group = group
        self._owner = owner
        self._new_producer = new_producer
        self._committed = committed
        self._clock = clock
        self._deadline_s = deadline_s
        self._pause_s = pause_s
        self._attempts = attempts
        self._producer: TransactionalProducer | None = None

    def start(self) -> int | None:
        """Take over the lane, and return its committed offset; None if there is none.

        The broker first completes or aborts the transaction that the former holder of the id had
        begun. So the offset is final. Raises `FencedError` if this process has published the lane
        before, and another worker has taken it over since.
        """
        self._discard()
        producer = within(self._deadline_s, "connecting", self._new_producer)
        try:
            within(self._deadline_s, "init_transactions", producer.init_transactions)
            committed = within(self._deadline_s, "committed", self._committed)
            owner, offset = owner_of(committed), published_offset(committed)
            if self._owner.is_replaced(self._group, owner):
                raise FencedError(
                    f"the worker {owner} has taken over the group {self._group}: another "
                    "worker runs with the same lanes. Stop one of them."
                )
            if owner != self._owner.name:
                self._transact(producer, [], self._owner.claim(offset))
            self._owner.claimed(self._group)
        except BaseException:
            self._close(producer)
            raise
        self._producer = producer
        return offset

    def publish(self, batches: Sequence[RecordBatch], before: int | None, after: int) -> None:
        """Write records and move the offset from `before` to `after`, exactly once.

        Tries several times, until the broker has confirmed it. Then gives up with the last error;
        the next `start` tells whether the records were written. Raises `FencedError` if another
        worker has taken over the lane, or has moved its offset.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                if self._producer is None:
                    committed = self.start()
                    if committed == after:
                        log.info("the broker says that the last transaction was committed")
                        return
                    self._check_offset(committed, before)
                if self._producer is None:
                    raise RuntimeError("no producer")
                self._transact(self._producer, batches, CommittedOffset(after, self._owner.name))
                if attempt > 1:
                    log.info("the transaction was published at attempt %s", attempt)
            except FencedError:
                self._discard()
                raise
            except Exception as error:  # after any error, only the broker knows the outcome
                self._discard()
                if attempt == self._attempts:
                    raise
                log.warning(
                    "it is not known whether the last transaction was committed (%s: %s); "
                    "asking the broker",
                    type(error).__name__,
                    error,
                )
                time.sleep(self._pause_s)
            else:
                return

    def _check_offset(self, committed: int | None, expected: int | None) -> None:
        if committed != expected:
            raise FencedError(
                f"the group {self._group} has committed offset {committed} of "
                f"{self._source.topic}, expected {expected}: another worker runs with the same "
                "lanes. Stop one of them."
            )

    def _transact(
        self,
        producer: TransactionalProducer,
        batches: Sequence[RecordBatch],
        after: CommittedOffset,
    ) -> None:
        """Write records, the offset and the name of this worker in one transaction."""
        deadline_s = self._deadline_s
        producer.begin_transaction()
        sent = time.time()
        futures = [
            future
            for batch in batches
            for future in producer.send_many(batch.topic, batch.keys, batch.values, batch.headers)
        ]
        within(deadline_s, "flush", lambda: producer.flush(deadline_s))
        for future in futures:
            future.get(0)  # raises if the record was lost
        for future in futures[-1:]:
            self._clock.acknowledged(sent, future)
        offsets = offsets_to_commit({self._source: after.offset or 0}, {self._source: after.note})
        within(
            deadline_s,
            "send_offsets_to_transaction",
            lambda: producer.send_offsets_to_transaction(offsets, self._group),
        )
        within(deadline_s, "commit_transaction", producer.commit_transaction)

    def close(self) -> None:
        """Disconnect."""
        self._discard()

    def _discard(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            self._close(producer)

    def _close(self, producer: TransactionalProducer) -> None:
        try:
            within(10.0, "close", lambda: discard_producer(producer))
        except Exception as error:  # the producer is not used again in any case
            log.debug("closing a producer: %s", error)
