"""Twin of `pipeline/curves/confidence.py`."""

from __future__ import annotations

import math


class SlowDifference:
    """The difference of two lanes' losses, and the confidence sequence of Howard et al. (2021)."""

    def __init__(self) -> None:
        self.rounds = 0
        self.sum = 0.0
        self.spread = 0.0

    def add(self, difference: float) -> None:
        """Add a round. Its centre is the mean before it, so that it does not depend on it."""
        centre = self.sum / self.rounds if self.rounds else 0.0
        self.spread += (difference - centre) * (difference - centre)
        self.rounds += 1
        self.sum += difference

    def margin(self, alpha: float) -> float:
        """Half the width of the interval; it is ever wrong with probability at most 2 `alpha`."""
        low, high = 0.0, 1e6 + self.rounds
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            if slow_reached(middle, self.spread, alpha):
                high = middle
            else:
                low = middle
        return high / self.rounds


def slow_reached(total: float, spread: float, alpha: float) -> bool:
    """Whether the mixture of supermartingales has reached 1 / alpha."""
    terms: list[float] = []
    for i in range(48):
        a = 0.45 / 1.25 ** (i + 0.5)
        psi = (-math.log(1.0 - 2.0 * a) - 2.0 * a) / 4.0
        before, after = 1.0 + i * math.log(1.25), 1.0 + (i + 1) * math.log(1.25)
        all_ = 1.0 - (1.0 + 48 * math.log(1.25)) ** -0.4
        weight = (before**-0.4 - after**-0.4) / all_
        terms.append(math.log(weight) + a * total - psi * spread)
    return max(terms) + math.log(sum(math.exp(t - max(terms)) for t in terms)) >= -math.log(alpha)
