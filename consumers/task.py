"""Calls that may hang, run in a thread of their own and waited for with a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Task(Generic[T]):
    """Something that may hang, in a thread of its own, which ends with the process at least."""

    def __init__(self, what: str, action: Callable[[], T]) -> None:
        self._what = what
        self._outcome: list[T] = []
        self._problem: list[BaseException] = []
        self._thread = threading.Thread(target=self._work, args=(action,), name=what, daemon=True)
        self._thread.start()

    def _work(self, action: Callable[[], T]) -> None:
        try:
            self._outcome.append(action())
        except BaseException as error:  # raised again where it is waited for
            self._problem.append(error)

    def done(self, seconds: float = 0.0) -> bool:
        """Wait for it no longer than so many seconds; says whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self, seconds: float) -> T:
        """What came of it; waiting ends after so many seconds."""
        if not self.done(seconds):
            raise TimeoutError(f"{self._what} took more than {seconds:.0f} s")
        if self._problem:
            raise self._problem[0]
        return self._outcome[0]


def within(seconds: float, what: str, action: Callable[[], T]) -> T:
    """Do something that may hang, and stop waiting for it after so many seconds."""
    return Task(what, action).result(seconds)
