"""Rankings and the offset they were made from, written together or not at all, exactly once.

kafka-python's transactions break in five ways: a commit can hang for ever, or return normally
although a record was lost or nothing was committed; offsets of an aborted transaction can be
committed by the next one; a fenced producer can come back on old brokers. So nothing here believes
the client. Every record's own fate is looked at before the commit; a producer that showed any
error is never used again; every call that could hang is watched; and after any doubt the broker's
committed offset decides whether the transaction happened.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kafka import TopicPartition

from consumers.clients import TransactionalProducer, committable

log = logging.getLogger(__name__)

T = TypeVar("T")


class FencedError(Exception):
    """Somebody else has written from this place of the log; the message says what to look for."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record to be published."""

    topic: str
    key: bytes
    value: bytes


def within(seconds: float, what: str, action: Callable[[], T]) -> T:
    """Do something that may hang, and stop waiting for it after so many seconds.

    What hangs is left behind in a thread of its own, which ends with the process at the latest.
    """
    outcome: list[T] = []
    problem: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(action())
        except BaseException as error:  # raised again where it is waited for
            problem.append(error)

    thread = threading.Thread(target=work, name=what, daemon=True)
    thread.start()
    thread.join(seconds)
    if problem:
        raise problem[0]
    if not outcome:
        raise TimeoutError(f"{what} took more than {seconds:.0f} s")
    return outcome[0]


class ExactlyOnce:
    """Publishes records together with the position that they bring a reader of the log to."""

    def __init__(
        self,
        group: str,
        source: TopicPartition,
        new_producer: Callable[[], TransactionalProducer],
        committed: Callable[[], int | None],
        patience_s: float = 30.0,
        pause_s: float = 0.5,
    ) -> None:
        self._group = group
        self._source = source
        self._new_producer = new_producer
        self._committed = committed
        self._patience_s = patience_s
        self._pause_s = pause_s
        self._producer: TransactionalProducer | None = None
        self.attempts = 0

    def start(self) -> int | None:
        """Take over from whoever wrote before, and say how far they got.

        The broker finishes or aborts what a former holder of the transactional id had begun
        before it lets us in, so the committed offset is final when this returns.
        """
        self._drop()
        producer = within(self._patience_s, "connecting", self._new_producer)
        try:
            within(self._patience_s, "init_transactions", producer.init_transactions)
            reached = within(self._patience_s, "committed", self._committed)
        except BaseException:
            self._close(producer)
            raise
        self._producer = producer
        return reached

    def publish(self, records: Sequence[Outgoing], before: int | None, after: int) -> None:
        """Write records and move the committed offset from `before` to `after`, exactly once.

        Tries until it is certain; raises `FencedError` if the offset is moved by somebody else.
        """
        while True:
            try:
                if self._producer is None:
                    reached = self.start()
                    if reached == after:
                        return  # what looked like a failure had been committed
                    if reached != before:
                        raise FencedError(
                            f"the group {self._group} stands at {reached} of {self._source.topic}, "
                            f"expected {before}: another worker runs with the same lanes. Stop one "
                            "of them."
                        )
                self._attempt(records, after)
            except FencedError:
                self._drop()
                raise
            except Exception as error:  # any doubt has the same cure
                log.warning(
                    "transaction in doubt (%s: %s); asking the broker", type(error).__name__, error
                )
                self._drop()
                time.sleep(self._pause_s)
            else:
                return

    def _attempt(self, records: Sequence[Outgoing], after: int) -> None:
        producer = self._producer
        if producer is None:
            raise RuntimeError("no producer")
        self.attempts += 1
        patience = self._patience_s
        producer.begin_transaction()
        sent = [producer.send(record.topic, record.value, record.key) for record in records]
        within(patience, "flush", lambda: producer.flush(patience))
        for future in sent:
            future.get(0)
        offsets = committable({self._source: after})
        within(
            patience,
            "send_offsets_to_transaction",
            lambda: producer.send_offsets_to_transaction(offsets, self._group),
        )
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
            within(5.0, "close", lambda: producer.close(timeout=0))
        except Exception as error:  # it is not used again in any case
            log.debug("closing a producer: %s", error)
