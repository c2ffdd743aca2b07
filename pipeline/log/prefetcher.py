"""Prepare the next blocks in a thread while earlier blocks are being learned."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Prefetcher(Generic[T]):
    """Iterates over blocks in a thread of its own, at most `ahead` blocks in advance.

    Iterating over a prefetcher never blocks for long: it yields `None` if no block is ready.
    """

    def __init__(self, blocks: Iterable[T], ahead: int = 2, patience_s: float = 0.1) -> None:
        self._blocks = blocks
        self._patience_s = patience_s
        self._ready: queue.Queue[T | BaseException] = queue.Queue(ahead)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="reader", daemon=True)

    def _work(self) -> None:
        end: BaseException = StopIteration()
        try:
            for block in self._blocks:
                self._put(block)
                if self._stop.is_set():
                    return
        except BaseException as error:  # raised again in the thread that uses the blocks
            end = error
        self._put(end)

    def _put(self, item: T | BaseException) -> None:
        while not self._stop.is_set():
            try:
                self._ready.put(item, timeout=self._patience_s)
            except queue.Full:
                continue
            return

    def __iter__(self) -> Iterator[T | None]:
        self._thread.start()
        while True:
            try:
                item = self._ready.get(timeout=self._patience_s)
            except queue.Empty:
                yield None
                continue
            if isinstance(item, StopIteration):
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    def close(self) -> None:
        """Stop preparing blocks. A thread that still waits for input ends with the process."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2 * self._patience_s)
