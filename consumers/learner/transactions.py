"""Rankings and the offsets they were made from, written together or not at all, exactly once.

kafka-python's transactions break in five ways: a commit can hang for ever, or return normally
although a record was lost or nothing was committed; offsets of an aborted transaction can be
committed by the next one; a fenced producer can come back on old brokers. So nothing here believes
the client. Every record's own fate is looked at before the commit; a producer that showed any
error is never used again; every call that could hang is watched; and after any doubt the broker's
committed offset decides whether the transaction happened.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from consumers.kafka.client_types import TopicPartition, TransactionalProducer
from consumers.kafka.offsets import offsets_to_commit
from consumers.kafka.workarounds import discard_producer
from consumers.task import within
from pipeline.storage.binary_array import BinaryArray

log = logging.getLogger(__name__)


class FencedError(Exception):
    """Somebody else has written from this place of the log; the message says what to look for."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Records to be published, and the topic they go to."""

    topic: str
    keys: BinaryArray
    values: BinaryArray


class ExactlyOnce:
    """Publishes records together with the positions that they bring readers of the log to.

    A reader is a consumer group of its own: its committed offset says how far it has published.
    """

    def __init__(
        self,
        source: TopicPartition,
        new_producer: Callable[[], TransactionalProducer],
        committed: Callable[[Iterable[str]], dict[str, int | None]],
        patience_s: float = 30.0,
        pause_s: float = 0.5,
        attempts: int = 3,
    ) -> None:
        self._source = source
        self._new_producer = new_producer
        self._committed = committed
        self._patience_s = patience_s
        self._pause_s = pause_s
        self._attempts = attempts
        self._producer: TransactionalProducer | None = None

    def start(self, groups: Iterable[str]) -> dict[str, int | None]:
        """Take over from whoever wrote before, and say how far each group got.

        The broker finishes or aborts what a former holder of the transactional id had begun
        before it lets us in, so the committed offsets are final when this returns.
        """
        self._drop()
        producer = within(self._patience_s, "connecting", self._new_producer)
        try:
            within(self._patience_s, "init_transactions", producer.init_transactions)
            reached = within(self._patience_s, "committed", lambda: self._committed(groups))
        except BaseException:
            self._close(producer)
            raise
        self._producer = producer
        return reached

    def publish(
        self, records: Sequence[Outgoing], before: Mapping[str, int | None], after: int
    ) -> None:
        """Write records and move the groups' offsets from `before` to `after`, exactly once.

        Tries several times until it is certain, then gives up with the last error: whether the
        records were written is for the next `start` to say. Raises `FencedError` if the offsets
        were moved by somebody else.
        """
        for attempt in range(1, self._attempts + 1):
            try:
                if self._producer is None:
                    reached = self.start(before)
                    if all(offset == after for offset in reached.values()):
                        return  # what looked like a failure had been committed
                    self._check(reached, before)
                self._attempt(records, before, after)
            except FencedError:
                self._drop()
                raise
            except Exception as error:  # any doubt has the same cure
                self._drop()
                if attempt == self._attempts:
                    raise
                log.warning(
                    "transaction in doubt (%s: %s); asking the broker", type(error).__name__, error
                )
                time.sleep(self._pause_s)
            else:
                return

    def _check(self, reached: Mapping[str, int | None], before: Mapping[str, int | None]) -> None:
        for group, expected in before.items():
            if reached[group] != expected:
                raise FencedError(
                    f"the group {group} stands at {reached[group]} of {self._source.topic}, "
                    f"expected {expected}: another worker runs with the same lanes. Stop one of "
                    "them."
                )

    def _attempt(self, records: Sequence[Outgoing], groups: Iterable[str], after: int) -> None:
        producer = self._producer
        if producer is None:
            raise RuntimeError("no producer")
        patience = self._patience_s
        producer.begin_transaction()
        sent = [
            future
            for outgoing in records
            for future in producer.send_many(outgoing.topic, outgoing.keys, outgoing.values)
        ]
        within(patience, "flush", lambda: producer.flush(patience))
        for future in sent:
            future.get(0)
        offsets = offsets_to_commit({self._source: after})

        def send_offsets() -> None:
            for group in groups:
                producer.send_offsets_to_transaction(offsets, group)

        within(patience, "send_offsets_to_transaction", send_offsets)
        within(patience, "commit_transaction", producer.commit_transaction)

    def close(self) -> None:
        """Let the producer go; what was published stays published."""
        self._drop()

    def _drop(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            self._close(producer)

    def _close(self, producer: TransactionalProducer) -> None:
        try:
            within(10.0, "close", lambda: discard_producer(producer))
        except Exception as error:  # it is not used again in any case
            log.debug("closing a producer: %s", error)
