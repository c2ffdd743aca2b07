"""What a process says of itself: whether it is ready, and when its loop last came round."""

from __future__ import annotations

import time
from collections.abc import Callable

# Longer than compiling, a block, a snapshot or a rebalance takes. A loop that only waits for input
# comes round all the time.
PATIENCE_SECONDS = 120.0


class Health:
    """Set by the thread that works, read by the one that serves."""

    def __init__(
        self, patience_s: float = PATIENCE_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.patience_s = patience_s
        self.ready = False  # recovered, and following its stream
        self._clock = clock
        self._moved = clock()

    def moved(self) -> None:
        """Say that the loop came round."""
        self._moved = self._clock()

    @property
    def loop_age_s(self) -> float:
        """Seconds since the loop last came round."""
        return self._clock() - self._moved

    @property
    def alive(self) -> bool:
        """Whether the loop came round lately."""
        return self.loop_age_s <= self.patience_s
