"""Twin of the checks in `learners/sharding/rankings_payload.py`, on lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise


def slow_is_possible(
    order: Sequence[Sequence[int]], values: Sequence[Sequence[float]], labels: Sequence[float],
    known: Sequence[int], shard: int, shards: int,
) -> bool:  # fmt: skip
    """Whether a shard can have found these topics and scores; see `first_fault`."""
    if not all(map(math.isfinite, (*labels, *(score for row in values for score in row)))):
        return False
    for topics, scores, count in zip(order, values, known, strict=True):
        own = range(shard, count, shards)
        filled = min(len(topics), len(own))
        ranked = list(zip(topics, scores, strict=True))[:filled]
        if any(topic not in own for topic, _ in ranked) or any(t >= 0 for t in topics[filled:]):
            return False
        if any((-a, s) >= (-b, t) for (s, a), (t, b) in pairwise(ranked)):
            return False
    return True


def slow_counts_fit(
    ranks: Sequence[int], level: Sequence[int], known: Sequence[int], label_starts: Sequence[int],
    labels: Sequence[int], shard: int, shards: int,
) -> bool:  # fmt: skip
    """Whether all counts are between 0 and the number of topics that can be counted."""
    for topics, (start, stop) in zip(known, pairwise(label_starts), strict=True):
        own = range(shard, topics, shards)
        for i in range(start - label_starts[0], stop - label_starts[0]):
            others = [topic for topic in own if topic != labels[i]]
            if not (0 <= ranks[i] <= len(others) and 0 <= level[i] <= len(own)):
                return False
    return True
