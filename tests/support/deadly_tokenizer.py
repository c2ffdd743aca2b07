"""A tokenizer that cannot survive some events: `python -m tests.support.deadly_tokenizer tokenize`.

Everything is the real program, except that the process dies on an event whose text contains DEADLY,
and hangs on one whose text contains ENDLESS, without ever returning to the interpreter. It may take
one second. If DIE_WRITING is set, it dies before it writes anything to the log. If
FAIL_DEAD_LETTERS is a number, it fails that many times to write a certain dead letter.
"""

from __future__ import annotations

import os
import re
import signal

from consumers.cli import main
from consumers.kafka.client_types import SendFuture
from consumers.kafka.errors import KafkaTimeoutError
from consumers.tokenizer import decoding, time_limit
from consumers.tokenizer import worker as tokenizer_worker
from consumers.tokenizer.dead_letter import DeadLetter
from consumers.tokenizer.delivery import Delivery, FailedSend
from pipeline.events.event import Event
from pipeline.events.formats import new_decoder
from pipeline.events.record import Record

decode = new_decoder("wirerank")


def deadly(record: Record, max_bytes: int) -> Event:
    raw = record.value or b""
    if b"DEADLY" in raw:
        os.kill(os.getpid(), signal.SIGKILL)
    if b"ENDLESS" in raw:
        re.fullmatch(r"(a|aa)+b", "a" * 10_000)  # exponential, and holds the interpreter
    return decode(record, max_bytes)


def die(*unused: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class FailingDelivery(Delivery):
    """Does not write some dead letters."""

    failures = int(os.environ.get("FAIL_DEAD_LETTERS", "0"))

    def send_dead_letter(self, letter: DeadLetter) -> SendFuture:
        if letter.value == b"nor this" and FailingDelivery.failures:
            FailingDelivery.failures -= 1
            return FailedSend(KafkaTimeoutError("not written"))
        return super().send_dead_letter(letter)


if __name__ == "__main__":
    tokenizer_worker.Delivery = FailingDelivery  # type: ignore[attr-defined]
    if "DIE_WRITING" in os.environ:
        Delivery.send_record = die  # type: ignore[method-assign,assignment]
    time_limit.FIXED_S = 1.0
    decoding.new_decoder = lambda *unused: deadly  # type: ignore[attr-defined]
    main()
