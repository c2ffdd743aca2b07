"""Plain-Python twins of the learners and measures: the formulas, one dict at a time.

They are the specification that the compiled kernels are held against, to the last bit, so they
add up in the order that the kernels add up in. Documents are `{feature: value}`, topics are
names, and `known` lists the topics that exist, in the order that breaks ties.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

Document = Mapping[str, float]
Weights = defaultdict[str, defaultdict[str, float]]  # topic -> feature -> weight


def zeros() -> Weights:
    """Prototypes that are zero wherever nothing was learned."""
    return defaultdict(lambda: defaultdict(float))


def inner(prototype: Mapping[str, float], document: Document) -> float:
    """The inner product, in the order of the document's features."""
    total = 0.0
    for feature, value in document.items():
        total += value * prototype.get(feature, 0.0)
    return total


class SlowPrototypes:
    """What MMP and the Perceptron share; subclasses say how far each topic moves."""

    def __init__(self, margin: float = 0.0, average: bool = False) -> None:
        self.margin = margin
        self.average = average
        self.rounds = 0
        self.weights = zeros()
        self.lagging = zeros()

    def moves(self, scores: Sequence[float], relevant: set[int]) -> list[float]:
        """The coefficient of each topic."""
        raise AssertionError("a subclass has the rule")

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """Score the known topics, by the averaged prototypes if asked for."""
        scores = [inner(self.weights[topic], document) for topic in known]
        if self.average and self.rounds:
            lags = [inner(self.lagging[topic], document) for topic in known]
            return [
                (self.rounds * s - lag) / self.rounds for s, lag in zip(scores, lags, strict=True)
            ]
        return scores

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """One round: the prototypes as they stand are corrected."""
        scores = [inner(self.weights[topic], document) for topic in known]
        tau = self.moves(scores, {known.index(topic) for topic in topics})
        for topic, move in zip(known, tau, strict=True):
            if move:
                for feature, value in document.items():
                    self.weights[topic][feature] += value * move
                    self.lagging[topic][feature] += value * float(self.rounds) * move
        self.rounds += 1


class SlowMMP(SlowPrototypes):
    """Topics of wrongly ordered pairs move by the number of such pairs, over a divisor."""

    def __init__(self, loss: int = 1, margin: float = 0.0, average: bool = False) -> None:
        super().__init__(margin, average)
        self.loss = loss

    def moves(self, scores: Sequence[float], relevant: set[int]) -> list[float]:
        """n_r / c for relevant topics, -n_s / c for the others."""
        others = [s for s in range(len(scores)) if s not in relevant]
        errors = [(r, s) for r in relevant for s in others if scores[r] - scores[s] <= self.margin]
        if not errors:
            return [0.0] * len(scores)
        divisor = {1: len(errors), 2: 1, 3: len(relevant) * len(others)}[self.loss]
        counts = [0] * len(scores)
        for r, s in errors:
            counts[r] += 1
            counts[s] -= 1
        return [count / divisor for count in counts]


class SlowPerceptron(SlowPrototypes):
    """Every topic by itself: wrong side, or not far enough on the right one."""

    def moves(self, scores: Sequence[float], relevant: set[int]) -> list[float]:
        """T where t times the score is no more than the margin, else 0."""
        signs = [1.0 if r in relevant else -1.0 for r in range(len(scores))]
        return [t if t * s <= self.margin else 0.0 for t, s in zip(signs, scores, strict=True)]


class SlowCommittee:
    """Several perceptrons a topic, each with a random start wherever it has no weight."""

    def __init__(self, size: int = 10, seed: int = 0) -> None:
        self.size = size
        self.seed = seed
        self.drawn = 0
        self.members = [zeros() for _ in range(size)]

    def scores(self, document: Document, topic: str) -> list[float]:
        """What each member says of a topic."""
        return [inner(weights[topic], document) for weights in self.members]

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """The means over the members."""
        return [added_up(self.scores(document, topic)) / self.size for topic in known]

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """Move those that are wrong; starts are dealt by feature, topic and member."""
        moving = []
        for topic in known:
            sign = 1.0 if topic in topics else -1.0
            for member, score in enumerate(self.scores(document, topic)):
                if sign * score <= 0.0:
                    moving.append((self.members[member][topic], sign))
        for feature, value in document.items():
            for weights, sign in moving if value else ():
                if weights[feature] == 0.0:
                    weights[feature] = self.start()
                weights[feature] += value * sign

    def start(self) -> float:
        """The next random number: an odd one of 2^53 levels between -1 and 1."""
        bits = scrambled((scrambled(self.seed) + self.drawn) % 2**64)
        self.drawn += 1
        return (2 * (bits >> 12) + 1) / 2**52 - 1.0


def scrambled(number: int) -> int:
    """The first output of splitmix64 with this seed."""
    number = (number + 0x9E3779B97F4A7C15) % 2**64
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ number >> 27) * 0x94D049BB133111EB % 2**64
    return number ^ number >> 31


class SlowRocchio:
    """Mean of the carriers less a share of the mean of the others, clipped, of unit norm."""

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
        """Remember the document; now and then make the prototypes anew."""
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
            mine = added_up([d.get(feature, 0.0) for d in carriers])
            everybody = added_up([d.get(feature, 0.0) for d, _ in self.documents])
            weight = 16.0 * (mine / len(carriers))
            if len(carriers) < self.rounds:
                weight -= 4.0 * ((everybody - mine) / (self.rounds - len(carriers)))
            weights[feature] = max(0.0, weight)
        norm = math.sqrt(added_up([w * w for w in weights.values()]))
        return {f: w / norm for f, w in weights.items()} if norm > 0.0 else weights


class SlowFrequency:
    """Topics by the number of documents that carried them."""

    def __init__(self) -> None:
        self.counts: defaultdict[str, float] = defaultdict(float)

    def score(self, document: Document, known: Sequence[str]) -> list[float]:
        """The counts, whatever the document."""
        return [self.counts[topic] for topic in known]

    def learn(self, document: Document, topics: Sequence[str], known: Sequence[str]) -> None:
        """Count."""
        for topic in topics:
            self.counts[topic] += 1.0


def added_up(numbers: Sequence[float]) -> float:
    """Left to right, one rounding at a time, as a kernel adds (`sum` is more exact since 3.12)."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def slow_topic_losses(scores: Sequence[float], relevant: set[int]) -> dict[int, float]:
    """Of each relevant topic the share of the irrelevant ones that are level with or above it."""
    others = [s for s in range(len(scores)) if s not in relevant]
    return {
        r: sum(scores[s] >= scores[r] for s in others) / len(others) if others else 0.0
        for r in relevant
    }


def slow_measures(
    scores: Sequence[float], relevant: set[int], ranked: int | None = None
) -> dict[str, float]:
    """The measures of one ranking by their definitions; one that does not exist is left out.

    The ranking has the first `ranked` topics; the others were discovered after it was made.
    """
    topics = range(len(scores))
    others = [s for s in topics if s not in relevant]
    errors = [(r, s) for r in relevant for s in others if scores[r] <= scores[s]]
    pairs = len(relevant) * len(others)
    measures = {
        "loss1": float(bool(errors)),
        "loss2": float(len(errors)),
        "loss3": len(errors) / pairs if pairs else 0.0,
    }
    if relevant:
        order = sorted(topics[:ranked], key=lambda r: (-scores[r], r))
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


class SlowIndex:
    """Features with lists of classes, heaviest first; of equal weights the elder comes first."""

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


class SlowFeatureFocus(SlowIndex):
    """The update is for true classes that lead the best wrong one by no more than the margin."""

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
        """Score the known topics; those that are not retrieved have 0."""
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
        """Drop what has become too light, and forget what is too old."""
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
        """Count."""
        for feature, value in document.items():
            if value > 0:
                self.total[feature] += 1
                for topic in topics:
                    self.strengthen(feature, topic, 1.0)
