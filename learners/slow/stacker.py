"""Twin of `learners/svm_map/stacker.py`; only the training itself is shared."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from learners.svm_map.features import DenseItems
from learners.svm_map.trainer import Queries, train

MAX_SEARCHES = 500

LaneScores = Sequence[Sequence[float]]  # of each lane: the scores of the topics


def ranking(scores: Sequence[float]) -> list[int]:
    """The topics, best first, ties by index."""
    return sorted(range(len(scores)), key=lambda topic: (-scores[topic], topic))


def features(scores: Sequence[float], depth: int) -> list[tuple[float, float, float]]:
    """The features of each topic from one lane: scaled score, one over the rank, and lead."""
    order = ranking(scores)
    low, high = min(scores), max(scores)
    differ = 0.0 < high - low < float("inf")
    scaled = [(score - low) / (high - low) if differ else 0.0 for score in scores]
    second = max([scaled[topic] for topic in order[1:]], default=0.0)
    described = []
    for topic in range(len(scores)):
        rank = order.index(topic) + 1
        lead = scaled[topic] - second if rank == 1 and differ else 0.0
        described.append((scaled[topic], 1.0 / rank if rank <= depth else 0.0, lead))
    return described


def precision(scores: Sequence[float], labels: Sequence[int]) -> float:
    """The average precision of a ranking."""
    order = ranking(scores)
    ranks = sorted(order.index(label) + 1 for label in labels)
    total = 0.0
    for hits, rank in enumerate(ranks, start=1):
        total += hits / rank
    return total / len(ranks)


class SlowStacker:
    """Combines the scores of lanes, document by document."""

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

    def described(self, lanes: LaneScores) -> list[list[float]]:
        """The features of each topic, lane after lane."""
        by_lane = [features(scores, self.depth) for scores in lanes]
        return [[x for lane in by_lane for x in lane[topic]] for topic in range(len(lanes[0]))]

    def combined(self, lanes: LaneScores) -> list[float]:
        """The scores by the weights."""
        scores = []
        for topic in self.described(lanes):
            score = 0.0
            for weight, feature in zip(self.weights, topic, strict=True):
                score += weight * feature
            scores.append(score)
        return scores

    def score(self, lanes: LaneScores) -> list[float]:
        """The scores of the topics of a document."""
        return list(lanes[self.followed]) if self.followed >= 0 else self.combined(lanes)

    def learn(self, lanes: LaneScores, labels: Sequence[int]) -> None:
        """Keep a labelled document; train if the round is a multiple of `refit`."""
        self.rounds += 1
        if 0 < len(labels) < len(lanes[0]):
            first = {topic for scores in lanes for topic in ranking(scores)[: self.depth]}
            items = sorted(first | set(labels))
            described = self.described(lanes)
            worth = [precision(scores, labels) for scores in (*lanes, self.combined(lanes))]
            relevant = [item in labels for item in items]
            self.lessons.append(([described[item] for item in items], relevant, worth))
        if self.rounds % self.refit == 0 and self.lessons:
            self.train()

    def train(self) -> None:
        """Find new weights, then choose between the weights and the best lane."""
        items = [item for lesson, _, _ in self.lessons for item in lesson]
        relevant = [known for _, those, _ in self.lessons for known in those]
        starts = np.cumsum([0, *(len(lesson) for lesson, _, _ in self.lessons)])
        queries = Queries(starts, np.array(relevant), DenseItems(np.array(items)))
        trained = train(queries, self.cost, max_searches=MAX_SEARCHES)
        if trained.queries:
            self.weights = trained.weights.tolist()
        worth = [0.0] * (len(self.weights) // 3 + 1)
        for _, _, precisions in self.lessons:
            worth = [total + one for total, one in zip(worth, precisions, strict=True)]
        best = max(range(len(worth) - 1), key=worth.__getitem__)
        total = squares = 0.0
        for _, _, precisions in self.lessons:
            gain = precisions[-1] - precisions[best]
            total += gain
            squares += gain * gain
        enough = self.proof * self.proof * squares
        self.followed = -1 if total > 0.0 and total * total > enough else best
