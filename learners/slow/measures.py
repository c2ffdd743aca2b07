"""Twin of `learners/measures.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from learners.slow.arithmetic import added_up


def slow_topic_losses(scores: Sequence[float], relevant: set[int]) -> dict[int, float]:
    """For each relevant topic, the share of irrelevant topics that score as high or higher."""
    others = [s for s in range(len(scores)) if s not in relevant]
    return {
        r: sum(scores[s] >= scores[r] for s in others) / len(others) if others else 0.0
        for r in relevant
    }


def slow_measures(
    scores: Sequence[float], relevant: set[int], ranked: int | None = None,
    head: Mapping[int, float] = {}, known: int = 0,
) -> dict[str, float]:  # fmt: skip
    """The measures of one ranking by their definitions; one that does not exist is left out.

    The ranking has the first `ranked` topics. `head` are its first topics with their probabilities,
    if they are in order of these. Then `known` topics existed when it was made; for the others, the
    first places of the ranking count as if the scores of the head stood there in their order.
    """
    first = list(head)
    moved = [*scores]
    for topic, score in zip(first, sorted((scores[t] for t in first), reverse=True), strict=True):
        moved[topic] = score

    def is_wrong(r: int, s: int) -> bool:
        if r in head and s in head:
            return (head[r], scores[r]) <= (head[s], scores[s])
        compared = moved if r >= known or s >= known else scores
        return compared[r] <= compared[s]

    def place(topic: int) -> tuple[float, bool, int]:
        is_behind = topic not in head
        return -moved[topic], is_behind, topic if is_behind else first.index(topic)

    topics = range(len(scores))
    others = [s for s in topics if s not in relevant]
    errors = [(r, s) for r in relevant for s in others if is_wrong(r, s)]
    pairs = len(relevant) * len(others)
    measures = {
        "loss1": float(bool(errors)),
        "loss2": float(len(errors)),
        "loss3": len(errors) / pairs if pairs else 0.0,
    }
    if relevant:
        order = sorted(topics[:ranked], key=place)
        rank = {topic: place for place, topic in enumerate(order, start=1)}
        ranks = sorted(rank[r] for r in relevant & rank.keys())
        hits = [sum(other <= r for other in ranks) / r for r in ranks]
        measures["one_error"] = float(not relevant.intersection(order[:1]))
        measures["coverage"] = max(rank.get(r, len(scores) + 1) for r in relevant) - 1.0
        measures["average_precision"] = added_up(hits) / len(relevant)
        measures["r1"] = float(bool(relevant.intersection(order[:1])))
        measures["r5"] = float(bool(relevant.intersection(order[:5])))
        measures["mrr"] = 1 / ranks[0] if ranks else 0.0
    return measures
