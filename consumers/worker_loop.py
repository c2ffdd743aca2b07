"""Running a worker for as long as it is wanted: through broker failures, but not through damage."""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Protocol

from consumers.kafka.errors import (
    AuthorizationError,
    CommitFailedError,
    KafkaError,
    RefusedError,
    describe_error,
)
from consumers.kafka.log_reader import LogError
from consumers.kafka.security import authorization_refusal
from consumers.kafka.topics import TopicError
from consumers.learner.transactions import FencedError
from consumers.tokenizer.worker import LostDocumentsError
from learners.sharding.exchange import DisagreementError
from pipeline.log.coverage import GapError
from pipeline.snapshots.snapshot import MismatchError
from pipeline.storage.container import DamagedError

log = logging.getLogger(__name__)

# What no trying again can mend: somebody has to look.
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
# What passes: the broker is away or slow, or the group has changed hands.
PASSING = (CommitFailedError, KafkaError, OSError, TimeoutError)
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 1.0
# A block is thousands of small objects, none of them in a cycle. At Python's default of 700 the
# collector would look through them many times a block, for about a tenth of a worker's time.
COLLECT_AFTER = 50_000


class Worker(Protocol):
    """Something that works until it is asked to stop."""

    def run(self, stop: threading.Event) -> None:
        """Work."""


def stopped_by_signals() -> threading.Event:
    """An event that SIGTERM and Ctrl-C set; a worker then finishes its block and ends.

    The handler only writes to a pipe, and a thread sets the event: setting it takes a lock, which
    the thread that is interrupted may hold, or a second signal may come while it is being taken.
    """
    faulthandler.register(signal.SIGUSR1)  # kill -USR1 shows where a worker is
    stop = threading.Event()
    heard, told = os.pipe()
    os.set_blocking(told, False)

    def handle(number: int, frame: FrameType | None) -> None:
        with suppress(BlockingIOError):  # so many signals that nobody can have missed them
            os.write(told, b".")

    def listen() -> None:
        os.read(heard, 1)
        stop.set()

    threading.Thread(target=listen, name="signals", daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
    return stop


def keep_working(new_worker: Callable[[], Worker], stop: threading.Event) -> None:
    """Run a worker; after a failure that passes make a new one, which takes up where it was."""
    gc.freeze()  # modules and settings stay for good
    gc.set_threshold(COLLECT_AFTER)
    pause = FIRST_PAUSE_S
    while not stop.is_set():
        started = threading.Event()
        try:
            worker = new_worker()
            started.set()
            worker.run(stop)
        except FATAL:
            raise
        except AuthorizationError as error:
            raise authorization_refusal(error) from None
        except PASSING as error:
            pause = FIRST_PAUSE_S if started.is_set() else min(2 * pause, LONGEST_PAUSE_S)
            log.warning("%s; trying again in %.1f s", describe_error(error), pause)
            stop.wait(pause)
