"""The health of a process: whether it is ready, and when its main loop last turned."""

from __future__ import annotations

import time
from collections.abc import Callable

# Longer than compiling, a block, a snapshot or a rebalance takes. A loop that waits for input turns
# all the time.
PATIENCE_SECONDS = 120.0


class Health:
    """Set by the working thread, read by the thread that serves metrics."""

    def __init__(
        self, patience_s: float = PATIENCE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.patience_s = patience_s
        self.ready = False  # recovered, and following its stream
        self.clock_ahead_s = 0.0  # how far the clock is ahead of the broker's, as far as known
        self._clock = clock
        self._moved = clock()

    def moved(self) -> None:
        """Take note that the loop turned."""
        self._moved = self._clock()

    def set_clock_ahead(self, seconds: float) -> None:
        """Take note how far the clock is ahead of the broker's; below 0 if it is behind."""
        self.clock_ahead_s = seconds

    @property
    def loop_age_s(self) -> float:
        """Seconds since the loop last turned."""
        return self._clock() - self._moved

    @property
    def alive(self) -> bool:
        """Whether the loop turned within the last `patience_s` seconds."""
        return self.loop_age_s <= self.patience_s
