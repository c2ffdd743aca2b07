"""Ctrl-C, SIGTERM and SIGHUP stop a run after the current block; a second signal, at once."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Remembers the first signal that asked the run to stop."""

    def __init__(self) -> None:
        self.signal: int | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Handle the signals inside the `with` block. Does nothing outside the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = [signal.signal(number, self._handle) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            raise KeyboardInterrupt
        self.signal = number


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """Let Ctrl-C end the process at once, without a traceback, inside the `with` block.

    It is for the imports of the program, which take seconds on a busy machine. A process that was
    started with Ctrl-C ignored goes on to ignore it.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def wait_for_interruption(say: Callable[[], None]) -> None:
    """Call `say`, which tells the user how to stop, and wait for a signal."""
    interruption = Interruption()
    with interruption.installed():
        say()  # only now, so that a signal is handled as soon as the user reads it
        while interruption.signal is None:
            time.sleep(0.1)  # a handled signal does not end the sleep, so it must be short
