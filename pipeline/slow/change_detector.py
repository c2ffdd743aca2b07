"""Twin of `pipeline/curves/change_detector.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pipeline.curves.change_detector import LOG_ERRORS


class SlowWindow:
    """The rounds of one window, written down."""

    def __init__(self, size: int, variance: float) -> None:
        self.size = size
        self.length = 64 * 2**size
        self.rate = min(0.5, math.sqrt(2.0 * LOG_ERRORS[size] / (self.length * variance)))


class SlowDetector:
    """Keeps all losses since the last alarm, and computes from them what the kernel carries on."""

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.sums = [0.0]  # of the losses, before each round and after the last one
        self.spreads = [0.0]
        self.centre, self.variance = 0.5, 0.25
        self.reference = self.before = 1.0
        self.windows = [SlowWindow(size, 0.25) for size in range(15)]
        self.bets = [0.0] * 8
        self.best = [0.0] * 8
        self.began = [0] * 8

    def add(self, loss: float) -> bool:
        """Add a round; return whether an alarm is raised."""
        capital = self.bet(loss) if self.reference < 1.0 else 0.0
        off = loss - self.centre
        self.losses.append(loss)
        rounds = len(self.losses)
        self.sums.append(self.sums[-1] + loss)
        self.spreads.append(self.spreads[-1] + off * off)
        self.centre += off / min(rounds + 1, 64)
        self.variance += (off * off - self.variance) / min(rounds + 1, 256)
        if capital >= 200_000.0:
            return True
        for size, window in enumerate(self.windows):
            if rounds % window.length == 0:
                self.close(window)
                self.windows[size] = SlowWindow(size, self.variance)
        return False

    def bet(self, loss: float) -> float:
        """Let all bets go on by a round, and begin new ones; return their capital."""
        level = self.reference + 0.005
        capital = 0.0
        for k in range(8):
            factor = 1.0 + min(2.0 ** (k - 4), 0.875 / level) * (loss - level)
            self.bets[k] = (self.bets[k] + 0.125) * factor
            if self.best[k] <= 1.0:
                self.best[k], self.began[k] = 1.0, len(self.losses)
            self.best[k] *= factor
            capital += self.bets[k]
        return capital

    def close(self, window: SlowWindow) -> None:
        """Lower the reference to the bound of a window that ends here."""
        mean = (self.sums[-1] - self.sums[-1 - window.length]) / window.length
        spread = self.spreads[-1] - self.spreads[-1 - window.length]
        rate = window.rate
        factor = rate * rate / (2.0 - 2.0 * rate)
        bound = mean + (LOG_ERRORS[window.size] + factor * spread) / (rate * window.length)
        if bound < self.reference:
            self.reference, self.before = bound, mean


def slow_alarms(losses: Sequence[float]) -> list[tuple[int, int, float, float]]:
    """Return the index of each alarm, the rounds since the rise, and the losses before and after.

    NaN is a round without a loss.
    """
    alarms = list[tuple[int, int, float, float]]()
    detector, rounds = SlowDetector(), list[int]()  # the indices of the detector's rounds
    for i, loss in enumerate(losses):
        if math.isnan(loss):
            continue
        rounds.append(i)
        if detector.add(loss):
            began = detector.began[detector.best.index(max(detector.best))]
            after = (detector.sums[-1] - detector.sums[began]) / (len(rounds) - began)
            alarms.append((i, i - rounds[began] + 1, detector.before, after))
            detector, rounds = SlowDetector(), []
    return alarms
