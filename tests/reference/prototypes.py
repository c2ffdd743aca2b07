"""MMP, Perceptron, Rocchio and Frequency in plain Python; a part of `tests.reference.stream`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.reference.vectors import Vector, add, dot, unit


class Learner:
    """One prototype a topic, zero at first; topics are numbers, and may join at any time."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self.margin = float(options.get("margin", 0))
        self.prototypes: list[Vector] = []
        self.rounds = 0
        self.averages = options.get("average") == "true"
        self.sums: list[Vector] = []

    def join(self, topics: int) -> None:
        """Let topics join with zero prototypes until there are so many."""
        while len(self.prototypes) < topics:
            self.prototypes.append({})
            self.sums.append({})

    def scores(self, x: Vector) -> list[float]:
        """What the topics are ranked by."""
        if self.averages:
            return [dot(total, x) / max(1, self.rounds) for total in self.sums]
        return [dot(prototype, x) for prototype in self.prototypes]

    def learn(self, x: Vector, relevant: Sequence[int]) -> None:
        """One round."""
        self.rounds += 1
        self.update(x, relevant)
        if self.averages:
            for total, prototype in zip(self.sums, self.prototypes, strict=True):
                add(total, 1.0, prototype)

    def update(self, x: Vector, relevant: Sequence[int]) -> None:
        """The learner's rule."""
        raise AssertionError("a subclass has the rule")


class Mmp(Learner):
    """Multiclass multilabel perceptron."""

    def update(self, x: Vector, relevant: Sequence[int]) -> None:
        scores = [dot(prototype, x) for prototype in self.prototypes]
        others = [s for s in range(len(scores)) if s not in relevant]
        errors = [(r, s) for r in relevant for s in others if scores[r] - scores[s] <= self.margin]
        if not errors:
            return
        c = {"1": len(errors), "2": 1, "3": len(relevant) * len(others)}[
            self.options.get("loss", "1")
        ]
        for r, n in Counter(r for r, _ in errors).items():
            add(self.prototypes[r], n / c, x)
        for s, n in Counter(s for _, s in errors).items():
            add(self.prototypes[s], -n / c, x)


class Perceptron(Learner):
    """One perceptron a topic."""

    def update(self, x: Vector, relevant: Sequence[int]) -> None:
        for topic, prototype in enumerate(self.prototypes):
            t = 1 if topic in relevant else -1
            if t * dot(prototype, x) <= self.margin:
                add(prototype, t, x)


class Rocchio(Learner):
    """Batch prototypes, made from all rounds so far, again every `refresh` rounds."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.seen: list[tuple[Vector, Sequence[int]]] = []

    def update(self, x: Vector, relevant: Sequence[int]) -> None:
        self.seen.append((x, relevant))
        if self.rounds % int(self.options.get("refresh", "1000")) == 0:
            self.prototypes = [self.prototype(r) for r in range(len(self.prototypes))]

    def prototype(self, topic: int) -> Vector:
        """Rocchio's formula, for one topic."""
        inside = [x for x, relevant in self.seen if topic in relevant]
        if not inside:
            return {}
        outside = [x for x, relevant in self.seen if topic not in relevant]
        w: Vector = {}
        for documents, factor in ((inside, 16.0), (outside, -4.0)):
            total: Vector = {}
            for x in documents:
                add(total, 1.0, x)
            add(w, factor / max(1, len(documents)), total)
        return unit({name: value for name, value in w.items() if value > 0})


class Frequency(Learner):
    """Topics by the number of documents that carried them."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.counts: Counter[int] = Counter()

    def scores(self, x: Vector) -> list[float]:
        return [float(self.counts[topic]) for topic in range(len(self.prototypes))]

    def update(self, x: Vector, relevant: Sequence[int]) -> None:
        self.counts.update(relevant)
