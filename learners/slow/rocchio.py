"""Twin of `learners/prototypes/rocchio.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from learners.slow.arithmetic import Document, added_up, inner, zeros


class SlowRocchio:
    """Mean of the carriers minus a share of the mean of the others, clipped, of length one."""

    def __init__(self, refresh: int = 1000) -> None:
        self.refresh = refresh
        self.rounds = 0
        self.features: list[str] = []  # in order of first appearance: the order of the norm's sum
        self.documents: list[tuple[Document, frozenset[str]]] = []
        self.weights = zeros()

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """Score the known topics by the prototypes as last made."""
        for feature in document:
            if feature not in self.features:
                self.features.append(feature)
        return [inner(self.weights[topic], document) for topic in known]

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """Remember the document; every `refresh` rounds make the prototypes."""
        self.documents.append((document, frozenset(topics)))
        self.rounds += 1
        if self.rounds % self.refresh == 0:
            self.weights = zeros()
            for topic in known:
                self.weights[topic].update(self.prototype(topic))

    def prototype(self, topic: str) -> dict[str, float]:
        """The prototype of one topic from all documents so far."""
        carriers = [d for d, topics in self.documents if topic in topics]
        if not carriers:
            return {}
        weights = {}
        for feature in self.features:
            carried = added_up([d.get(feature, 0.0) for d in carriers])
            total = added_up([d.get(feature, 0.0) for d, _ in self.documents])
            weight = 16.0 * (carried / len(carriers))
            if len(carriers) < self.rounds:
                weight -= 4.0 * ((total - carried) / (self.rounds - len(carriers)))
            weights[feature] = max(0.0, weight)
        norm = math.sqrt(added_up([w * w for w in weights.values()]))
        return {f: w / norm for f, w in weights.items()} if norm > 0.0 else weights
