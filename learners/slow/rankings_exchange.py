"""Twin of `learners/sharding/rankings_exchange.py`, on lists."""

from __future__ import annotations

from collections.abc import Sequence

from learners.segment import Steps

Ranked = list[tuple[int, float]]  # topics with their scores, best first


def slow_best(scores: Sequence[float], known: int, top: int, shard: int, shards: int) -> Ranked:
    """The best of a shard's topics, by the scores of all topics; ties by index."""
    own = [(topic, scores[topic // shards]) for topic in range(shard, known, shards)]
    return best_of(own, top)


def best_of(topics: Ranked, top: int) -> Ranked:
    """The `top` best topics."""
    return sorted(topics, key=lambda pair: (-pair[1], pair[0]))[:top]


def slow_rankings(steps: Steps) -> list[tuple[int, int]]:
    """The rows that steps rank, each with the number of topics that were known."""
    pairs = zip(steps.row.tolist(), steps.known.tolist(), steps.learn.tolist(), strict=True)
    return [(row, known) for row, known, learn in pairs if not learn]


def slow_labels(steps: Steps) -> list[tuple[int, int]]:
    """The row and the topic of every label, in the order of the steps."""
    starts = steps.label_starts.tolist()
    return [
        (row, topic)
        for step, row in enumerate(steps.row.tolist())
        for topic in steps.labels.tolist()[starts[step] : starts[step + 1]]
    ]
