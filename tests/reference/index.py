"""Feature Focus and IND once more, in plain Python: the index learners of `tests.reference.stream`.

Written from the paper (Madani, Connor and Greiner 2010, sections 3.2, 3.3 and 4) and from what the
lanes say of their options. Where those leave a choice open, this is how it is read here:

- A feature is active where its value is greater than zero; other features are neither seen nor
  updated. With `boolean` an active feature has the value 1 whatever the norm of the lane.
- `seen` counts the learned documents of a feature, also those without topics and those that caused
  no update, and is counted after the retrieval for learning.
- A feature's list runs from heavy to light. A connection that gains weight passes those that are
  lighter now, and stays behind those of the same weight.
- A true class must be among the 50 best, equal scores by topic index, or its score counts as zero.
  Where no wrong class is retrieved, the best wrong score is zero.
- Without `leak` the total falls with each connection that is dropped, the lightest first, and the
  next one is measured by the new total. `memory` bounds what is left after that.
- IND counts documents without topics as documents of their features.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

Vector = dict[str, float]
BEST = 50
OFTEN = 10


def active(x: Vector) -> Vector:
    """The features that take part."""
    return {name: value for name, value in x.items() if value > 0}


class Index:
    """What both have in common. Topics are numbers; one that is not retrieved has score zero."""

    def __init__(self) -> None:
        self.topics = 0

    def join(self, topics: int) -> None:
        """Let topics join, unconnected."""
        self.topics = max(self.topics, topics)


@dataclass
class Connections:
    """The list of one feature: classes and the weights w' of the paper, heavy to light."""

    classes: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    total: float = 0.0
    seen: int = 0

    def strengthen(self, topic: int, value: float) -> None:
        """Add to a connection, which may be a new one, and move it forward."""
        weight, before = value, len(self.classes)
        if topic in self.classes:
            before = self.classes.index(topic)
            del self.classes[before]
            weight += self.weights.pop(before)
        # Never back: a gain can be too small to make a difference to the weight.
        at = min(before, sum(other >= weight for other in self.weights))
        self.classes.insert(at, topic)
        self.weights.insert(at, weight)
        self.total += value

    def shrink(self, memory: float) -> None:
        """Scale everything down until the total is `memory`."""
        factor = memory / self.total
        self.weights = [weight * factor for weight in self.weights]
        self.total = memory

    def drop(self, w_min: float, *, leak: bool) -> None:
        """Drop what is too light."""
        while self.weights and self.weights[-1] / self.total < w_min:
            self.classes.pop()
            weight = self.weights.pop()
            if not leak:
                self.total -= weight


class FeatureFocus(Index):
    """Features vote for the classes that they were updated for, in proportion."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__()
        self.margin = float(options.get("margin", 0))
        self.w_min = float(options.get("w_min", 0.01))
        self.d_max = int(options.get("d_max", 25)) or None
        self.leak = options.get("leak", "true") == "true"
        self.rating = options.get("rating", "true") == "true"
        self.boolean = options.get("boolean", "false") == "true"
        self.memory = float(options.get("memory", 0))
        self.features: dict[str, Connections] = {}

    def values(self, x: Vector) -> Vector:
        """The vector as this learner takes it."""
        return dict.fromkeys(active(x), 1.0) if self.boolean else active(x)

    def scores(self, x: Vector) -> list[float]:
        """RankedRetrieval: every class by the votes it got."""
        scores = [0.0] * self.topics
        for name, value in self.values(x).items():
            if name not in self.features:
                continue
            one = self.features[name]
            rating = min(1, one.seen / OFTEN) if self.rating else 1
            votes = list(zip(one.classes, one.weights, strict=True))[: self.d_max]
            for topic, weight in votes:
                scores[topic] += rating * (weight / one.total) * value
        return scores

    def learn(self, x: Vector, relevant: Sequence[int]) -> None:
        """FF: update for each class that leads by too little."""
        scores = self.scores(x)
        best = sorted(range(self.topics), key=lambda topic: (-scores[topic], topic))[:BEST]
        wrong = max((scores[c] for c in range(self.topics) if c not in relevant), default=0.0)
        update = [c for c in relevant if (scores[c] if c in best else 0.0) - wrong <= self.margin]
        for name, value in self.values(x).items():
            one = self.features.setdefault(name, Connections())
            one.seen += 1
            for topic in update:
                one.strengthen(topic, value)
                one.drop(self.w_min, leak=self.leak)
                if 0 < self.memory < one.total:
                    one.shrink(self.memory)


class Independent(Index):
    """IND: the share of each class among the documents of a feature."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__()
        self.p_ind = float(options.get("p_ind", 0))
        self.documents: Counter[str] = Counter()
        self.carried: dict[str, Counter[int]] = {}

    def scores(self, x: Vector) -> list[float]:
        """The sum of the shares that are large enough."""
        scores = [0.0] * self.topics
        for name in active(x):
            for topic, count in self.carried.get(name, {}).items():
                share = count / self.documents[name]
                if share >= self.p_ind:
                    scores[topic] += share
        return scores

    def learn(self, x: Vector, relevant: Sequence[int]) -> None:
        """Count."""
        for name in active(x):
            self.documents[name] += 1
            self.carried.setdefault(name, Counter()).update(relevant)
