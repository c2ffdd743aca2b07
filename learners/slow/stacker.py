"""Twin of `learners/svm_map/stacker.py`; only the training itself is shared."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np

from learners.slow.arithmetic import added_up
from learners.slow.committee import scrambled
from learners.svm_map.features import DenseItems
from learners.svm_map.trainer import Queries, train

MAX_SEARCHES = 500
SHARES = (
    (1.0, 0.0, 0.3, 0.0, 0.0),
    (1.0, 0.0, 1.0, 0.0, 0.0),
    (1.0, 0.0, 1.0, 0.0, 0.5),
    (0.0, 1.0, 0.3, 0.3, 1.0),
    (0.0, 1.0, 0.0, 0.3, 1.0),
    (0.0, 1.0, 0.0, 10.0, 0.0),
    (0.0, 1.0, 0.0, 10.0, 12.0),
)
HEADS = (0.0, 0.3, 1.0)
TRAINED = (1.0, 3.0)
FIXED = len(SHARES) + len(HEADS)
BY_WEIGHTS = 2 * len(TRAINED)
TIE = 1e-9
LOSSES = 5  # 1 - average precision, coverage, one-error, loss1, loss3
LOST_PRECISION, LOST_SHARE, GAIN_WEIGHT, PRIOR_ROUNDS = 0.002, 0.02, 0.05, 10.0
WEIGHTS = (1.0, 1.0, 0.3, 0.3, 0.3)
CAUTION, TRAINED_CAUTION = 0.8, 2.0

LaneScores = Sequence[Sequence[float]]  # of each lane: the scores of the topics
Features = list[list[tuple[float, float, float]]]  # of each lane: those of the topics


def ranking(scores: Sequence[float]) -> list[int]:
    """The topics, best first, ties by index."""
    return sorted(range(len(scores)), key=lambda topic: (-scores[topic], topic))


def features(scores: Sequence[float], depth: int) -> list[tuple[float, float, float]]:
    """The features of each topic from one lane: scaled score, one over the rank, and lead."""
    order = ranking(scores)
    low, high = min(0.0, *scores), max(0.0, *scores)
    differ = 0.0 < high - low < float("inf")
    scaled = [(score - low) / (high - low) if differ else 0.0 for score in scores]
    second = max([scaled[topic] for topic in order[1:]], default=0.0)
    described = []
    for topic in range(len(scores)):
        rank = order.index(topic) + 1
        lead = scaled[topic] - second if rank == 1 and differ else 0.0
        described.append((scaled[topic], 1.0 / rank if rank <= depth else 0.0, lead))
    return described


def scored(lanes: LaneScores) -> int:
    """How many topics were known when the document was scored: those after it have no score."""
    known = [topic for topic in range(len(lanes[0])) if any(lane[topic] != 0.0 for lane in lanes)]
    return known[-1] + 1 if known else 0


def place_of_zero(lanes: LaneScores) -> int:
    """How many topics are ahead of a new one, in the lane that has the fewest."""
    return min(sum(score >= 0.0 for score in lane) for lane in lanes)


def shifted(scores: list[float], ahead: int) -> list[float]:
    """The scores, shifted so that 0 stands behind the first `ahead` topics."""
    order = sorted(scores, reverse=True)
    if ahead == 0:
        zero = order[0] + 1.0
    elif ahead == len(scores):
        zero = order[-1]
    else:
        zero = (order[ahead] + order[ahead - 1]) / 2.0
    return [score - zero for score in scores]


def untied(scores: Sequence[float]) -> list[float]:
    """The scores, with different ones for topics that were level, in the order of their ranks."""
    return [score - TIE * topic for topic, score in enumerate(scores)]


def measured(scores: Sequence[float], ahead: int, known: int, labels: Sequence[int]) -> list[float]:
    """The losses of a ranking; topics that it lacks stand behind its first `ahead` topics."""
    topics = len(scores)
    order = ranking(scores)
    whole = [*order[:ahead], *range(topics, known), *order[ahead:]]
    ranks = sorted(whole.index(label) + 1 for label in labels)
    wrong = 0
    for label in labels:
        for other in set(range(known)) - set(labels):
            if max(label, other) < topics and scores[label] == scores[other]:
                wrong += 1  # a tie is an error
            elif min(label, other) >= topics:
                wrong += 1  # both are new: a tie
            else:
                wrong += whole.index(other) < whole.index(label)
    precision = 0.0
    for hits, rank in enumerate(ranks, start=1):
        precision += hits / rank
    pairs = float(len(labels)) * (known - len(labels))
    return [
        1.0 - precision / len(labels), ranks[-1] - 1.0, float(ranks[0] != 1), float(wrong > 0),
        wrong / pairs,
    ]  # fmt: skip


class Record:
    """The losses of all candidates over some rounds, with the gains over the leader."""

    def __init__(self, candidates: int) -> None:
        self.sums = [[0.0] * (LOSSES + 2) for _ in range(candidates)]
        self.rounds = 0.0

    def add(self, round_: list[list[float]], decay: float = 1.0) -> None:
        """Add a round, after the rounds before have lost some weight."""
        for sums, values in zip(self.sums, round_, strict=True):
            sums[:] = [decay * total + value for total, value in zip(sums, values, strict=True)]
        self.rounds = decay * self.rounds + 1.0

    def plus(self, other: Record) -> Record:
        """Both records together."""
        both = Record(0)
        for first, second in zip(self.sums, other.sums, strict=True):
            both.sums.append([a + b for a, b in zip(first, second, strict=True)])
        both.rounds = self.rounds + other.rounds
        return both

    def tolerances(self, lanes: int) -> list[tuple[float, float]]:
        """For each loss: the least of a lane, and how much more is tolerable."""
        found = []
        for loss in range(LOSSES):
            total = 0.0
            for lane in range(lanes):
                total += self.sums[lane][loss]
            least = min(self.sums[lane][loss] for lane in range(lanes))
            prior = PRIOR_ROUNDS * (total / lanes) / max(self.rounds, 1.0)
            found.append((least, LOST_SHARE * (least + prior)))
        found[0] = (found[0][0], LOST_PRECISION * (self.rounds + PRIOR_ROUNDS))
        return found

    def penalty(self, candidate: int, lanes: int, caution: float = 0.0) -> float:
        """How far a candidate is behind the best lanes."""
        total = 0.0
        losses = self.sums[candidate][:LOSSES]
        losses[0] += caution * LOST_PRECISION * math.sqrt(self.sums[candidate][-1])
        rows = zip(losses, self.tolerances(lanes), WEIGHTS, strict=True)
        for lost, (least, unit), weight in rows:
            if unit > 0.0:
                behind = (lost - least) / unit
                total += weight * (behind if behind > 0.0 else GAIN_WEIGHT * behind)
            elif lost > 0.0:
                total += 1.0
        return total

    def best(self, lanes: int, candidates: range, caution: float = 0.0) -> int:
        """The candidate with the least penalty."""
        return min(candidates, key=lambda candidate: self.penalty(candidate, lanes, caution))


class SlowStacker:
    """Combines the scores of lanes, document by document."""

    def __init__(
        self, lanes: int, refit: int, window: int, cost: float, depth: int, proof: float = 1.0
    ) -> None:
        self.lanes = lanes
        self.refit, self.cost, self.depth, self.proof = refit, cost, depth, proof
        self.decay = 1.0 - 1.0 / max(2, window)
        self.approved: list[float] | None = None
        self.probation: list[float] | None = None
        self.rounds = 0
        self.lessons: deque[tuple[list[list[float]], list[bool], list[float]]] = deque(
            maxlen=window
        )
        self.candidates = lanes + FIXED + 2 * BY_WEIGHTS
        self.lasting, self.before, self.now = (Record(self.candidates) for _ in range(3))

    def leader(self) -> int:
        """The best lane."""
        return self.lasting.best(self.lanes, range(self.lanes))

    def lane_with_least(self, loss: int) -> int:
        """The lane with the least of a loss; the leader if no other lane has less."""
        found = self.leader()
        for lane in range(self.lanes):
            if self.lasting.sums[lane][loss] < self.lasting.sums[found][loss]:
                found = lane
        return found

    def chosen(self) -> int:
        """The candidate to rank by."""
        lanes, first = self.lanes, self.lanes + FIXED
        chosen, caution = self.leader(), 0.0
        blended = self.lasting.best(lanes, range(lanes, first), CAUTION)
        least = self.lasting.penalty(chosen, lanes)
        if self.lasting.penalty(blended, lanes, CAUTION) < least:
            chosen, caution = blended, CAUTION
        if self.approved is None:
            return chosen
        recent = self.before.plus(self.now)
        trained = recent.best(lanes, range(first, first + BY_WEIGHTS), TRAINED_CAUTION)
        gain, squares = recent.sums[trained][LOSSES:]
        ahead = gain > 0.0 and gain * gain > self.proof * self.proof * squares
        other = recent.penalty(chosen, lanes, caution)
        better = recent.penalty(trained, lanes, TRAINED_CAUTION) < other
        return trained if better and (ahead or self.proof == 0.0) else chosen

    def blends(self, described: Features) -> list[list[float]]:
        """The scores by each blend."""
        scaled = [[topic[0] for topic in lane] for lane in described]
        leading, true = scaled[self.leader()], scaled[self.lane_with_least(0)]
        wide = scaled[self.lane_with_least(1)]
        places = [topic[1] for topic in described[self.lane_with_least(0)]]
        first = [float(topic[1] == 1.0) for topic in described[self.lane_with_least(2)]]
        mean = [added_up(list(scores)) / self.lanes for scores in zip(*scaled, strict=True)]
        tail = untied(wide)
        found = []
        for shares in SHARES:
            parts = zip(leading, wide, mean, places, first, strict=True)
            found.append(
                untied([added_up([s * p for s, p in zip(shares, x, strict=True)]) for x in parts])
            )
        for share in HEADS:
            head = untied([t + share * m for t, m in zip(true, mean, strict=True)])
            found.append(self.above(head, tail))
        for weights in (self.approved, self.probation):
            ranked = [self.ranked(weights, described, topic) for topic in range(len(mean))]
            by_weights = [
                untied([b + share * r for b, r in zip(base, ranked, strict=True)])
                for base in (leading, true)
                for share in TRAINED
            ]
            found += by_weights[: len(TRAINED)]
            found += [self.above(head, tail) for head in by_weights[len(TRAINED) :]]
        return found

    def ranked(self, weights: list[float] | None, described: Features, topic: int) -> float:
        """The score of a topic by trained weights."""
        of_topic = [feature for lane in described for feature in lane[topic]]
        pairs = zip(weights or [0.0] * len(of_topic), of_topic, strict=True)
        return added_up([weight * feature for weight, feature in pairs])

    def above(self, head: list[float], tail: list[float]) -> list[float]:
        """The first topics of one ranking, then those of another."""
        count = min(3 * self.depth, max(1, len(head) // 2))
        last = sorted(head, reverse=True)[count - 1]
        return [h - last + 2.0 if h >= last else t for h, t in zip(head, tail, strict=True)]

    def described(self, lanes: LaneScores, topics: int) -> Features:
        """The features of the first topics, by lane."""
        return [features(scores[:topics], self.depth) for scores in lanes]

    def score(self, lanes: LaneScores) -> list[float]:
        """The scores of the topics of a document."""
        chosen = self.chosen()
        if chosen < self.lanes:
            return list(lanes[chosen])
        topics = scored(lanes)
        if not topics:
            return [0.0] * len(lanes[0])
        scores = self.blends(self.described(lanes, topics))[chosen - self.lanes]
        ahead = place_of_zero([lane[:topics] for lane in lanes])
        return shifted(scores, ahead) + [0.0] * (len(lanes[0]) - topics)

    def learn(self, lanes: LaneScores, labels: Sequence[int]) -> None:
        """Judge the candidates and keep the document; train if it is time for that."""
        self.rounds += 1
        topics, known = scored(lanes), len(lanes[0])
        if topics and 0 < len(labels) < known:
            described = self.described(lanes, topics)
            self.judge(lanes, described, labels)
            if 0 < sum(label < topics for label in labels) < topics:
                self.keep(described, labels)
        early = [self.refit // part for part in (8, 4, 2)]
        if self.rounds % self.refit == 0 or self.rounds in early:
            self.train()

    def judge(self, lanes: LaneScores, described: Features, labels: Sequence[int]) -> None:
        """Add a round to the records."""
        topics, known = len(described[0]), len(lanes[0])
        leader = self.leader()
        round_ = [measured(lane, known, known, labels) for lane in lanes]
        ahead = place_of_zero([lane[:topics] for lane in lanes])
        for number, scores in enumerate(self.blends(described)):
            vector = (number - FIXED) // BY_WEIGHTS
            weights = self.probation if vector == 1 else self.approved
            exists = number < FIXED or weights is not None
            round_.append(measured(scores, ahead, known, labels) if exists else [0.0] * LOSSES)
        for losses in round_:
            gain = (round_[leader][0] - losses[0]) / LOST_PRECISION
            losses += [gain, gain * gain]
        fading = max(0.0, min(self.decay, 1.0 - 2.0 / 3.0 / max(self.lasting.rounds, 1.0)))
        self.lasting.add(round_, fading)
        self.now.add(round_)

    def keep(self, described: Features, labels: Sequence[int]) -> None:
        """Keep the first topics of each lane, the relevant topics, and some of the others."""
        topics = range(len(described[0]))
        weights = {
            topic: 1.0
            for topic in topics
            if topic in labels or any(lane[topic][1] > 0.0 for lane in described)
        }
        below = [topic for topic in topics if topic not in weights]
        drawn = min(self.depth, len(below))
        for i in range(drawn):
            place = scrambled(self.rounds) % len(below) + i * len(below) // drawn
            weights[below[place % len(below)]] = len(below) / drawn
        items = sorted(weights)
        by_item = [[x for lane in described for x in lane[item]] for item in items]
        relevant = [item in labels for item in items]
        self.lessons.append((by_item, relevant, [weights[item] for item in items]))

    def train(self) -> None:
        """Approve the weights on probation if they did better, then find new ones."""
        first, count = self.lanes + FIXED, BY_WEIGHTS
        approve = self.probation is not None
        if approve and self.approved is not None:
            old = self.now.best(self.lanes, range(first, first + count))
            new = self.now.best(self.lanes, range(first + count, first + 2 * count))
            approve = self.now.penalty(new, self.lanes) < self.now.penalty(old, self.lanes)
        if approve:
            self.approved = self.probation
            self.now.sums[first : first + count] = [
                list(sums) for sums in self.now.sums[first + count :]
            ]
        self.before, self.now = self.now, Record(self.candidates)
        if not self.lessons:
            return
        items = [item for lesson, _, _ in self.lessons for item in lesson]
        relevant = [known for _, those, _ in self.lessons for known in those]
        weights = [weight for _, _, those in self.lessons for weight in those]
        starts = np.cumsum([0, *(len(lesson) for lesson, _, _ in self.lessons)])
        queries = Queries(
            starts, np.array(relevant), DenseItems(np.array(items)), np.array(weights)
        )
        trained = train(queries, self.cost, max_searches=MAX_SEARCHES).weights.tolist()
        size = added_up([abs(weight) for weight in trained])
        if size > 0.0:
            self.probation = [weight / size for weight in trained]
