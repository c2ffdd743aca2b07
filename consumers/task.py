"""Runs calls that may hang in threads of their own, and waits for them with a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Task(Generic[T]):
    """A call in a thread of its own; if it hangs, the thread ends with the process."""

    def __init__(self, what: str, action: Callable[[], T]) -> None:
        self._what = what
        self._result: list[T] = []
        self._error: list[BaseException] = []
        self._thread = threading.Thread(target=self._work, args=(action,), name=what, daemon=True)
        self._thread.start()

    def _work(self, action: Callable[[], T]) -> None:
        try:
            self._result.append(action())
        except BaseException as error:  # raised again by `result`
            self._error.append(error)

    def done(self, seconds: float = 0.0) -> bool:
        """Wait for at most this long; returns whether the call has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self, seconds: float) -> T:
        """The result of the call; raises its error, or TimeoutError after this many seconds."""
        if not self.done(seconds):
            raise TimeoutError(f"{self._what} took more than {seconds:.0f} s")
        if self._error:
            raise self._error[0]
        return self._result[0]


def within(seconds: float, what: str, action: Callable[[], T]) -> T:
    """Call something that may hang; raises TimeoutError after this many seconds."""
    return Task(what, action).result(seconds)
