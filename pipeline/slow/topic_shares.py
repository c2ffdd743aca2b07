"""Twin of `pipeline/curves/topic_shares.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence

Round = tuple[float, Sequence[int]]  # the loss and the topics
Sums = tuple[float, float]  # of rounds and of parts of the loss


def slow_sums(rounds: Sequence[Round], topic: int) -> Sums:
    """Return how many rounds have a topic, and the sum of its parts of their losses."""
    count = total = 0.0
    for loss, topics in rounds:
        if topic in topics:
            count += 1.0
            total += loss / len(topics)
    return count, total


def slow_changed(
    rounds: Sequence[Round], topics: int
) -> list[tuple[int, float, float, float, float]]:
    """Return the changed topics, with frequency and loss before and after; from all rounds."""
    period = (len(rounds) - 1) // 128
    recent_start = 128 * max(0, period - 1)
    middle = 128 * 2 ** (period.bit_length() - 1) if period else 0
    longer_start = middle // 2 if period > 1 else 0
    before_count = recent_start - longer_start
    if before_count <= 0:
        return []
    found = []
    for topic in range(topics):
        now, last = (
            slow_sums(rounds[128 * period :], topic),
            slow_sums(rounds[recent_start : 128 * period], topic),
        )
        recent = (now[0] + last[0], now[1] + last[1])
        now = slow_sums(rounds[middle:], topic)
        last = slow_sums(rounds[longer_start:middle], topic)
        before = [max(0.0, now[i] + last[i] - recent[i]) / before_count for i in (0, 1)]
        after = [recent[i] / (len(rounds) - recent_start) for i in (0, 1)]
        found.append((topic, before[0], after[0], before[1], after[1]))
    rise = math.fsum(of_topic[4] - of_topic[3] for of_topic in found)
    found.sort(key=lambda of_topic: of_topic[3] - of_topic[4])
    return [of_topic for of_topic in found[:5] if of_topic[4] - of_topic[3] > max(0.0, 0.05 * rise)]
