"""A small discrete-event simulation: processes are generators that wait for time, signals or cores.

A process yields a number to sleep for that many seconds, or a `Signal` to wait for it. Events at
the same time happen in the order in which they were scheduled, so a run is deterministic.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator
from itertools import count

Process = Generator["float | Signal", None, None]


class Signal:
    """Something that happens once. Processes that wait for it go on then."""

    __slots__ = ("happened", "waiting")

    def __init__(self) -> None:
        self.happened = False
        self.waiting: list[Process] = []


class EventLoop:
    """The clock, and what happens next."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events = 0
        self._order = count()
        self._heap: list[tuple[float, int, Process]] = []

    def start(self, process: Process, delay: float = 0.0) -> None:
        """Let a process begin after a delay."""
        heapq.heappush(self._heap, (self.now + delay, next(self._order), process))

    def fire(self, signal: Signal) -> None:
        """Let all processes go on that wait for a signal."""
        signal.happened = True
        for process in signal.waiting:
            self.start(process)
        signal.waiting = []

    def run(self, until: float = float("inf")) -> None:
        """Run until nothing happens any more, or until a time."""
        while self._heap and self._heap[0][0] <= until:
            self.now, _, process = heapq.heappop(self._heap)
            self.events += 1
            self._resume(process)

    def _resume(self, process: Process) -> None:
        """Let a process run up to its next wait."""
        while True:
            try:
                wanted = next(process)
            except StopIteration:
                return
            if isinstance(wanted, Signal):
                if wanted.happened:
                    continue
                wanted.waiting.append(process)
            else:
                self.start(process, max(0.0, wanted))
            return


class Cores:
    """Cores that processes take in turn, for at most a slice of time at once.

    Without a slice, work is not interrupted. With a slowness, all work takes so many times as long.
    """

    def __init__(
        self,
        loop: EventLoop,
        cores: int,
        slice_seconds: float = float("inf"),
        slowness: float = 1.0,
    ) -> None:
        self.cores = cores
        self._slowness = slowness
        self.busy_seconds = 0.0
        self._loop = loop
        self._slice = slice_seconds
        self._free = cores
        self._queue: deque[Signal] = deque()

    def use(self, seconds: float) -> Process:
        """Use one core for some time; waits while all are taken."""
        left = seconds * self._slowness
        while left > 0:
            if self._free == 0 or self._queue:
                turn = Signal()
                self._queue.append(turn)
                if self._free > 0:
                    self._next_turn()
                yield turn
            else:
                self._free -= 1
            taken = min(left, self._slice)
            yield taken
            left -= taken
            self.busy_seconds += taken
            self._free += 1
            self._next_turn()

    def _next_turn(self) -> None:
        """Give a free core to whoever waits longest."""
        if self._queue and self._free > 0:
            self._free -= 1
            self._loop.fire(self._queue.popleft())

    def utilisation(self, seconds: float) -> float:
        """The share of the time that the cores were busy."""
        return self.busy_seconds / (self.cores * seconds) if seconds > 0 else 0.0
