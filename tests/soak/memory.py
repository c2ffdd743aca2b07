"""How the memory of workers grows, from samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

WARM_UP_S = 40.0  # a worker that has just started still loads kernels and its snapshot
SHORTEST_LIFE_S = 60.0


def memory_growth(samples: Iterable[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """By worker: the most megabytes, and the slope in megabytes per minute of its longest life.

    There is no slope for a worker that never lived for a minute after its warm-up.
    """
    lives: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for sample in samples:
        lives[sample["name"], sample["pid"]].append((sample["at"], sample["bytes"] / 1e6))
    growth: dict[str, dict[str, float]] = {}
    lengths: dict[str, float] = {}
    for (name, _), points in lives.items():
        worker = growth.setdefault(name, {"most_mb": 0.0})
        worker["most_mb"] = round(max(worker["most_mb"], *(size for _, size in points)), 1)
        warm = [point for point in points if point[0] > points[0][0] + WARM_UP_S]
        length = warm[-1][0] - warm[0][0] if warm else 0.0
        if length > max(SHORTEST_LIFE_S, lengths.get(name, 0.0)):
            lengths[name] = length
            worker["mb_per_minute"] = round(60 * slope(warm), 2)
    return growth


def slope(points: list[tuple[float, float]]) -> float:
    """The slope of the line that fits best.

    >>> slope([(0, 1), (1, 3), (2, 5)])
    2.0
    """
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0
