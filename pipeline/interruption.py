"""Ctrl-C, SIGTERM and SIGHUP end a run between two blocks; a second one ends it at once."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether somebody asked to stop, and by which signal."""

    def __init__(self) -> None:
        self.signal: int | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Listen to the signals, if this is the main thread."""
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


def wait_for_interruption(say: Callable[[], None]) -> None:
    """Say that somebody must ask to stop, and wait until that is done."""
    interruption = Interruption()
    with interruption.installed():
        say()  # whoever reads it can do so at once
        while interruption.signal is None:
            time.sleep(0.1)  # a signal is handled at once, but does not end the sleep
