"""Plain-Python twin of the stacker; see `slow.py`. Only the training itself is shared."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from learners.svm_map.features import DenseItems
from learners.svm_map.trainer import Queries, train

MAX_SEARCHES = 500

Said = Sequence[Sequence[float]]  # of each lane the scores of the topics


def ranking(scores: Sequence[float]) -> list[int]:
    """The topics, best first, ties by index."""
    return sorted(range(len(scores)), key=lambda topic: (-scores[topic], topic))


def features(scores: Sequence[float], depth: int) -> list[tuple[float, float, float]]:
    """Of each topic what a lane said: its score from 0 to 1, one over its rank, and its lead."""
    order = ranking(scores)
    low, high = min(scores), max(scores)
    tells = 0.0 < high - low < float("inf")
    scaled = [(score - low) / (high - low) if tells else 0.0 for score in scores]
    second = max([scaled[topic] for topic in order[1:]], default=0.0)
    found = []
    for topic in range(len(scores)):
        rank = order.index(topic) + 1
        lead = scaled[topic] - second if rank == 1 and tells else 0.0
        found.append((scaled[topic], 1.0 / rank if rank <= depth else 0.0, lead))
    return found


def precision(scores: Sequence[float], labels: Sequence[int]) -> float:
    """The average precision of a ranking."""
    order = ranking(scores)
    ranks = sorted(order.index(label) + 1 for label in labels)
    total = 0.0
    for found, rank in enumerate(ranks, start=1):
        total += found / rank
    return total / len(ranks)


class SlowStacker:
    """Combines what lanes said, document by document."""

    def __init__(
        self, lanes: int, refit: int, window: int, cost: float, depth: int, proof: float = 1.0
    ) -> None:
        self.refit, self.cost, self.depth, self.proof = refit, cost, depth, proof
        self.weights = [1.0, 0.0, 0.0] * lanes
        self.followed = -1
        self.rounds = 0
        self.lessons: deque[tuple[list[list[float]], list[bool], list[float]]] = deque(
            maxlen=window
        )

    def described(self, said: Said) -> list[list[float]]:
        """The features of each topic, lane after lane."""
        lanes = [features(scores, self.depth) for scores in said]
        return [[x for lane in lanes for x in lane[topic]] for topic in range(len(said[0]))]

    def combined(self, said: Said) -> list[float]:
        """The scores by the weights."""
        scores = []
        for topic in self.described(said):
            score = 0.0
            for weight, feature in zip(self.weights, topic, strict=True):
                score += weight * feature
            scores.append(score)
        return scores

    def score(self, said: Said) -> list[float]:
        """The scores of the topics of a document."""
        return list(said[self.followed]) if self.followed >= 0 else self.combined(said)

    def learn(self, said: Said, labels: Sequence[int]) -> None:
        """Take the labels of a document; train if it is time."""
        self.rounds += 1
        if 0 < len(labels) < len(said[0]):
            first = {topic for scores in said for topic in ranking(scores)[: self.depth]}
            items = sorted(first | set(labels))
            described = self.described(said)
            worth = [precision(scores, labels) for scores in (*said, self.combined(said))]
            relevant = [item in labels for item in items]
            self.lessons.append(([described[item] for item in items], relevant, worth))
        if self.rounds % self.refit == 0 and self.lessons:
            self.train()

    def train(self) -> None:
        """Find new weights, and whether a lane has done better than the weights of the time."""
        items = [item for lesson, _, _ in self.lessons for item in lesson]
        relevant = [known for _, those, _ in self.lessons for known in those]
        starts = np.cumsum([0, *(len(lesson) for lesson, _, _ in self.lessons)])
        queries = Queries(starts, np.array(relevant), DenseItems(np.array(items)))
        trained = train(queries, self.cost, max_searches=MAX_SEARCHES)
        if trained.queries:
            self.weights = trained.weights.tolist()
        worth = [0.0] * (len(self.weights) // 3 + 1)
        for _, _, mine in self.lessons:
            worth = [total + one for total, one in zip(worth, mine, strict=True)]
        best = max(range(len(worth) - 1), key=worth.__getitem__)
        total = squares = 0.0
        for _, _, mine in self.lessons:
            total += mine[-1] - mine[best]
            squares += (mine[-1] - mine[best]) * (mine[-1] - mine[best])
        enough = self.proof * self.proof * squares
        self.followed = -1 if total > 0.0 and total * total > enough else best
