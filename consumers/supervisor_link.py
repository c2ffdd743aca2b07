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
# How much longer the first sign of life may take: the process must be started before it.
START_SECONDS = 60.0
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
        self._heard = time.monotonic() + START_SECONDS

    def silent_seconds(self) -> float:
        """How long ago the worker gave its last sign of life; below 0 while it starts.

        Signs that arrived while the supervisor itself stood still count as new.
        """
        with suppress(OSError):  # nothing more to read, or the worker has ended
            while self._socket.recv(4096):
                self._heard = time.monotonic()
        return time.monotonic() - self._heard

    def close(self) -> None:
        """Close the connection to a worker that has ended."""
        self._socket.close()


class SupervisorLink:
    """The worker's end: sends signs of life, and stops the worker when the supervisor ends.

    It is opened before the worker imports what takes long. `__main__` calls `die_with_parent` even
    earlier.
    """

    def __init__(self, descriptor: int = 0) -> None:
        self._stop = threading.Event()
        self._health = Health()
        self._socket = socket.socket(fileno=os.dup(descriptor))
        self._socket.setblocking(False)
        threading.Thread(target=self._follow, name="supervisor", daemon=True).start()

    def attach(self, stop: threading.Event, health: Health) -> None:
        """Set `stop` when the supervisor ends, and send signs of life only while all is well."""
        before, self._stop, self._health = self._stop, stop, health
        if before.is_set():
            stop.set()

    def _follow(self) -> None:
        while not has_ended(self._socket, BEAT_SECONDS):
            if is_turning(self._health):
                send_beat(self._socket)
        log.warning("the supervisor has ended; stopping")
        self._stop.set()
        time.sleep(GRACE_SECONDS)
        log.error("not stopped within %.0f s of the supervisor's end; exiting", GRACE_SECONDS)
        os._exit(1)


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
    """Ask the kernel to kill this process as soon as its parent ends, which only Linux can."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0) != 0:
        log.debug("prctl: %s", os.strerror(ctypes.get_errno()))
