"""Keeps a worker running until it is asked to stop: restarts it after broker failures.

Damage and refusals end the process instead, because only a person can repair them.
"""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Protocol

from consumers.kafka.clock import clock_refusal
from consumers.kafka.errors import (
    PERMANENT,
    AuthorizationError,
    CommitFailedError,
    CorruptRecordError,
    InvalidTimestampError,
    KafkaError,
    RefusedError,
    describe_error,
)
from consumers.kafka.log_reader import LogError
from consumers.kafka.security import authorization_refusal
from consumers.kafka.topics import TopicError
from consumers.learner.transactions import FencedError
from consumers.tokenizer.document_reader import LostDocumentsError
from learners.sharding.exchange import DisagreementError
from pipeline.log.coverage import GapError
from pipeline.snapshots.snapshot import MismatchError
from pipeline.storage.container import DamagedError

log = logging.getLogger(__name__)

# Errors that no retry can repair: a person has to act.
FATAL = (
    DamagedError,
    DisagreementError,
    FencedError,
    GapError,
    LogError,
    LostDocumentsError,
    MismatchError,
    RefusedError,
    TopicError,
)
# Errors that pass: the broker is away or slow, or the group has rebalanced.
TEMPORARY = (CommitFailedError, KafkaError, OSError, TimeoutError)
# The pause before the next try doubles with each failure in a row. A broker that cannot be reached
# is back from one moment to the next. A worker that connects and then fails may do so for long.
FIRST_PAUSE_S, MAX_PAUSE_S, MAX_PAUSE_AT_WORK_S = 0.5, 1.0, 5.0
RECOVERED_S = 30.0  # a worker that has run for this long has recovered
# Records with a wrong checksum may have been damaged on their way, or on the disk of a broker.
MAX_DAMAGED_READS = 5
# A block is thousands of small objects, none of them in a cycle. With Python's default of 700, the
# garbage collector would scan them many times per block, for about a tenth of a worker's time.
COLLECT_AFTER = 50_000


class Worker(Protocol):
    """A tokenizer or a learner."""

    def run(self, stop: threading.Event) -> None:
        """Work until asked to stop, or until the input of the stream has ended."""


def stopped_by_signals() -> threading.Event:
    """An event that SIGTERM and Ctrl-C set; a worker then finishes its block and ends.

    The handler only writes to a pipe, and a thread sets the event. Setting it takes a lock, which
    the interrupted thread may hold, and a second signal may arrive in the middle of that.
    """
    faulthandler.register(signal.SIGUSR1)  # kill -USR1 prints the stacks of a worker
    stop = threading.Event()
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)

    def handle(number: int, frame: FrameType | None) -> None:
        with suppress(BlockingIOError):  # the pipe is full of signals already
            os.write(write_end, b".")

    def listen() -> None:
        os.read(read_end, 1)
        stop.set()

    threading.Thread(target=listen, name="signals", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
    return stop


def damage_on_disk(error: Exception) -> DamagedError:
    """The error for records whose checksum is wrong however often they are read."""
    return DamagedError(
        f"records were damaged each of {MAX_DAMAGED_READS} times they were read "
        f"({describe_error(error)}): the leader's copy is probably damaged on its disk. Make "
        "another replica the leader of this partition, or restore it, and start again."
    )


def keep_working(new_worker: Callable[[], Worker], stop: threading.Event) -> None:
    """Run a worker; after a temporary failure make a new one, which continues where it was."""
    gc.freeze()  # modules and settings are never freed
    gc.set_threshold(COLLECT_AFTER)
    pause = FIRST_PAUSE_S
    failed_at: float | None = None
    damaged_reads = 0  # in a row
    while not stop.is_set():
        connected = False
        try:
            worker = new_worker()
            connected, connected_at = True, time.monotonic()
            if failed_at is not None:
                seconds = time.monotonic() - failed_at
                log.warning("connected to the broker again after %.1f s; continuing", seconds)
                failed_at = None
            worker.run(stop)
            return  # asked to stop, or at the end of its input
        except FATAL:
            raise
        except AuthorizationError as error:
            raise authorization_refusal(error) from None
        except InvalidTimestampError as error:
            raise clock_refusal(error) from None
        except PERMANENT as error:
            raise RefusedError(f"{describe_error(error)}. A retry would fail again.") from None
        except TEMPORARY as error:
            if connected and time.monotonic() - connected_at > RECOVERED_S:
                pause = FIRST_PAUSE_S
                damaged_reads = 0
            damaged_reads = damaged_reads + 1 if isinstance(error, CorruptRecordError) else 0
            if damaged_reads == MAX_DAMAGED_READS:
                raise damage_on_disk(error) from None
            pause = min(pause, MAX_PAUSE_AT_WORK_S if connected else MAX_PAUSE_S)
            failed_at = time.monotonic() if failed_at is None else failed_at
            log.warning("%s; trying again in %.1f s", describe_error(error), pause)
            stop.wait(pause)
            pause *= 2
