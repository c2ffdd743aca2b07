"""The connection between a supervisor and a worker: each notices if the other is gone or hangs.

The standard input of a worker that `run` started is a socket. Its other end belongs to the
supervisor alone:

- If the supervisor ends, however it ends, the worker reads the end of the file, and stops. Workers
  without a supervisor would compete with those of the next `run`. On Linux the kernel also kills
  them at once, even if they hang.
- A thread of the worker sends a byte every second. It cannot do so while another thread keeps the
  interpreter for itself, or while the process is stopped. It does not do so if the main loop has
  not turned for very long. A supervisor that hears nothing for long restarts the worker.
"""

from __future__ import annotations

import ctypes
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from pipeline.metrics.health import Health

log = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
# How long a worker may take to stop after the end of its supervisor.
GRACE_SECONDS = 10.0
# A main loop that has followed its stream turns at least this often, whatever it waits for: while
# it publishes, each of its attempts has a deadline.
LOOP_SECONDS = 600.0
PR_SET_PDEATHSIG = 1


class WorkerLink:
    """The supervisor's end: starts a worker, and notes when it last gave a sign of life."""

    def __init__(self, command: Sequence[str], keep_open: Sequence[int] = ()) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        with theirs:
            self.process = subprocess.Popen(  # noqa: S603 - our own program
                command, stdin=theirs.fileno(), pass_fds=keep_open
            )
        self._heard = time.monotonic()

    def silent_seconds(self) -> float:
        """How long ago the worker gave its last sign of life.

        Signs that arrived while the supervisor itself stood still count as new.
        """
        with suppress(OSError):  # nothing more to read, or the worker has ended
            while self._socket.recv(4096):
                self._heard = time.monotonic()
        return time.monotonic() - self._heard

    def close(self) -> None:
        """Close the connection to a worker that has ended."""
        self._socket.close()


def follow_supervisor(
    stop: threading.Event, health: Health, descriptor: int = 0, kernel: bool = True
) -> None:
    """Send signs of life to the supervisor, and stop this worker when the supervisor ends.

    `kernel` says whether the kernel should kill this worker then.
    """
    if kernel and sys.platform == "linux":
        die_with_parent()
    link = socket.socket(fileno=os.dup(descriptor))
    link.setblocking(False)

    def follow() -> None:
        while not has_ended(link, BEAT_SECONDS):
            if is_turning(health):
                send_beat(link)
        log.warning("the supervisor has ended; stopping")
        stop.set()
        time.sleep(GRACE_SECONDS)
        log.error("not stopped within %.0f s of the supervisor's end; exiting", GRACE_SECONDS)
        os._exit(1)

    threading.Thread(target=follow, name="supervisor", daemon=True).start()


def is_turning(health: Health) -> bool:
    """Whether the main loop turns; before a worker follows its stream, nothing is asked of it."""
    return not health.ready or health.loop_age_s <= LOOP_SECONDS


def has_ended(link: socket.socket, seconds: float) -> bool:
    """Wait for the end of the supervisor, but at most for so many seconds."""
    readable, _, _ = select.select([link], [], [], seconds)
    if not readable:
        return False
    try:
        return not link.recv(4096)
    except BlockingIOError:
        return False
    except OSError:
        return True


def send_beat(link: socket.socket) -> None:
    """Send a sign of life; the supervisor need not read it."""
    with suppress(OSError):  # the supervisor stands still, or has just ended
        link.send(b".")


def die_with_parent() -> None:
    """Ask the kernel to kill this process as soon as its parent ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0) != 0:
        log.debug("prctl: %s", os.strerror(ctypes.get_errno()))
