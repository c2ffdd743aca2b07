"""Twin of `learners/index/feature_focus.py`."""

from __future__ import annotations

from collections.abc import Sequence

from learners.slow.arithmetic import Document
from learners.slow.index import SlowIndex


class SlowFeatureFocus(SlowIndex):
    """Updates true classes that lead the best wrong class by no more than the margin."""

    def __init__(
        self,
        margin: float = 0.0,
        w_min: float = 0.01,
        d_max: int = 25,
        leak: bool = True,
        rating: bool = True,
        boolean: bool = False,
        memory: float = 0.0,
    ) -> None:
        super().__init__()
        self.margin = margin
        self.w_min = w_min
        self.d_max = d_max
        self.leak = leak
        self.rating = rating
        self.boolean = boolean
        self.memory = memory

    def votes(self, document: Document) -> dict[str, float]:
        """The scores of the classes that are retrieved."""
        scores: dict[str, float] = {}
        for feature, value in document.items():
            if value > 0 and self.lists[feature]:
                vote = 1.0 if self.boolean else value
                if self.rating:
                    vote *= min(1.0, self.seen[feature] / 10.0)
                heaviest = list(self.lists[feature].items())[: self.d_max or None]
                for topic, weight in heaviest:
                    scores[topic] = scores.get(topic, 0.0) + vote * (weight / self.total[feature])
        return scores

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """Score the known topics; topics that are not retrieved score 0."""
        votes = self.votes(document)
        return [votes.get(topic, 0.0) for topic in known]

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """Update all features for each class whose margin is too small."""
        votes = self.votes(document)
        order = sorted(votes, key=lambda topic: (-votes[topic], known.index(topic)))
        best_wrong = max((s for topic, s in votes.items() if topic not in topics), default=0.0)
        right = {topic: votes[topic] for topic in order[:50] if topic in topics}
        small = [t for t in topics if right.get(t, 0.0) - best_wrong <= self.margin]
        for feature, value in document.items():
            if value <= 0:
                continue
            self.seen[feature] += 1
            gain = 1.0 if self.boolean else value
            for topic in small:
                self.total[feature] += gain
                self.strengthen(feature, topic, gain)
                self.trim(feature)

    def trim(self, feature: str) -> None:
        """Drop connections that have become too light, and limit the total by `memory`."""
        weights = self.lists[feature]
        while weights:
            last = list(weights)[-1]
            if weights[last] / self.total[feature] >= self.w_min:
                break
            if not self.leak:
                self.total[feature] -= weights[last]
            del weights[last]
        if 0 < self.memory < self.total[feature]:
            kept = self.memory / self.total[feature]
            for topic in weights:
                weights[topic] *= kept
            self.total[feature] = self.memory


class SlowIndependent(SlowIndex):
    """Counts of documents: of a feature, and of a feature with a class."""

    def __init__(self, p_ind: float = 0.0) -> None:
        super().__init__()
        self.p_ind = p_ind

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """The sum of the shares that are large enough."""
        scores = dict.fromkeys(known, 0.0)
        for feature, value in document.items():
            if value > 0:
                for topic, count in self.lists[feature].items():
                    if (share := count / self.total[feature]) >= self.p_ind:
                        scores[topic] += share
        return list(scores.values())

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """Count the document for its features, and for its features with each of its topics."""
        for feature, value in document.items():
            if value > 0:
                self.total[feature] += 1
                for topic in topics:
                    self.strengthen(feature, topic, 1.0)
