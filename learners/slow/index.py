"""Twin of `learners/index/base.py`."""

from __future__ import annotations

from collections import defaultdict


class SlowIndex:
    """Features with lists of classes, heaviest first; of equal weights the older comes first."""

    def __init__(self) -> None:
        self.lists: defaultdict[str, dict[str, float]] = defaultdict(dict)  # weights, in list order
        self.total: defaultdict[str, float] = defaultdict(float)
        self.seen: defaultdict[str, int] = defaultdict(int)

    def strengthen(self, feature: str, topic: str, gain: float) -> None:
        """Add to a connection, and put its list in order."""
        weights = self.lists[feature]
        weights[topic] = weights.get(topic, 0.0) + gain
        ranked = sorted(weights, key=lambda name: (-weights[name], name == topic))
        self.lists[feature] = {name: weights[name] for name in ranked}
