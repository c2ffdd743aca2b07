"""The stacker: a learner that combines the scores of other lanes, trained for average precision.

Yue, Finley, Radlinski and Joachims, "A support vector method for optimizing average precision"
(SIGIR 2007), whose ranker `trainer.py` trains.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs
from learners.checks import (
    InvalidArrayError,
    bools,
    check_between,
    check_extent,
    floats,
    longs,
    starts,
)
from learners.jit import njit
from learners.learner import Learner, State
from learners.options import Option
from learners.scores import DenseScores, RowScores, Scores, ScoresMismatchError
from learners.segment import Segment, Steps
from learners.svm_map.features import DenseItems
from learners.svm_map.trainer import Queries, train

SCALED, PLACE, LEAD = range(3)  # the features of a topic from each lane; see `TopicFeatures`
EACH = 3
MAX_RELEVANT = 1000  # topics of a document, for `max_bytes`
MAX_SEARCHES = 500  # in one refit, so that the stream never waits for long


class TopicFeatures(NamedTuple):
    """The features of the topics of a document: lanes x topics, on the same scale for all lanes.

    Equal scores are ranked by index.
    """

    scaled: Floats  # the score, scaled from 0 for the last topic to 1 for the first
    places: Floats  # one over the rank of the first `depth` topics, 0 for the others
    leads: Floats  # how far the first topic is ahead of the second, 0 for the others


@njit
def new_features(lanes: int, topics: int) -> TopicFeatures:
    """Room for the features of a document."""
    return TopicFeatures(
        np.empty((lanes, topics)), np.empty((lanes, topics)), np.empty((lanes, topics))
    )


@njit
def describe(values: Floats, depth: int, features: TopicFeatures) -> None:
    """Write the features of the topics, from the scores of each lane (lanes x topics)."""
    scaled, places, leads = features.scaled, features.places, features.leads
    topics = values.shape[1]
    best = np.empty(min(depth, topics), np.int64)
    scaled[:], places[:], leads[:] = 0.0, 0.0, 0.0
    for lane in range(len(values)):
        given = values[lane]
        filled = 0
        low = high = given[0]
        for topic in range(topics):
            low, high = min(low, given[topic]), max(high, given[topic])
            if filled == len(best) and given[topic] <= given[best[filled - 1]]:
                continue
            place = min(filled, len(best) - 1)
            while place > 0 and given[topic] > given[best[place - 1]]:
                best[place] = best[place - 1]
                place -= 1
            best[place] = topic
            filled = min(filled + 1, len(best))
        for place in range(filled):
            places[lane, best[place]] = 1.0 / (place + 1)
        span = high - low
        if not 0.0 < span < np.inf:
            continue  # all scores are equal, or not finite
        second = 0.0
        for topic in range(topics):
            scaled[lane, topic] = (given[topic] - low) / span
            if topic != best[0]:
                second = max(second, scaled[lane, topic])
        leads[lane, best[0]] = scaled[lane, best[0]] - second


@njit
def weigh(features: TopicFeatures, weights: Floats, scores: Floats) -> None:
    """Write the scores of topics: their features times the weights, lane after lane."""
    scaled, places, leads = features.scaled, features.places, features.leads
    for topic in range(scaled.shape[1]):
        score = 0.0
        for lane in range(len(scaled)):
            score += weights[EACH * lane + SCALED] * scaled[lane, topic]
            score += weights[EACH * lane + PLACE] * places[lane, topic]
            score += weights[EACH * lane + LEAD] * leads[lane, topic]
        scores[topic] = score


@njit
def combine_rows(
    steps: Steps, lane_scores: Floats, weights: Floats, followed: int, depth: int, out: Floats
) -> None:
    """Score the ranked rows: by the weights, or exactly as the lane `followed` if it is not -1."""
    lanes = len(lane_scores)
    for step in range(len(steps.row)):
        row, known = steps.row[step], steps.known[step]
        if steps.learn[step] or known == 0:
            continue
        if followed >= 0:
            out[row, :known] = lane_scores[followed, row, :known]
            continue
        features = new_features(lanes, known)
        describe(lane_scores[:, row, :known], depth, features)
        weigh(features, weights, out[row])


@njit
def average_precision(scores: Floats, labels: Ints) -> float:
    """The average precision of the ranking by these scores, ties by index."""
    ranks = np.empty(len(labels), np.int64)
    for i in range(len(labels)):
        label = labels[i]
        rank = 1
        for topic in range(len(scores)):
            ahead = scores[topic] > scores[label]
            rank += ahead or (scores[topic] == scores[label] and topic < label)
        ranks[i] = rank
    ranks.sort()
    total = 0.0
    for i in range(len(ranks)):
        total += (i + 1) / ranks[i]
    return total / len(ranks)


@njit
def lesson_of(
    lane_scores: Floats, labels: Ints, weights: Floats, depth: int
) -> tuple[Floats, Bools, Floats]:
    """What the stacker keeps of a labelled document, as the fields of a `Lesson`.

    Its items are the relevant topics and the first `depth` topics of each lane. The topics below
    are many, and change little.
    """
    lanes, topics = lane_scores.shape
    described, combined = new_features(lanes, topics), np.empty(topics)
    describe(lane_scores, depth, described)
    weigh(described, weights, combined)
    scaled, places, leads = described.scaled, described.places, described.leads
    worth = np.empty(lanes + 1)
    for lane in range(lanes):
        worth[lane] = average_precision(lane_scores[lane], labels)
    worth[lanes] = average_precision(combined, labels)
    is_label, is_item = np.zeros(topics, np.bool_), np.zeros(topics, np.bool_)
    for label in labels:
        is_label[label] = is_item[label] = True
    for topic in range(topics):
        for lane in range(lanes):
            if places[lane, topic] > 0.0:
                is_item[topic] = True
    items = np.flatnonzero(is_item)
    features = np.empty((len(items), EACH * lanes))
    for i in range(len(items)):
        for lane in range(lanes):
            features[i, EACH * lane + SCALED] = scaled[lane, items[i]]
            features[i, EACH * lane + PLACE] = places[lane, items[i]]
            features[i, EACH * lane + LEAD] = leads[lane, items[i]]
    return features, is_label[items], worth


@njit
def is_ahead(gains: Floats, proof: float) -> bool:
    """Whether the sum of the gains is above 0 by more than `proof` standard errors."""
    total = squares = 0.0
    for gain in gains:
        total += gain
        squares += gain * gain
    return total > 0.0 and total * total > proof * proof * squares


class Lesson(NamedTuple):
    """What the stacker keeps of a labelled document."""

    features: Floats  # items x features
    relevant: Bools  # whether each item is relevant
    worth: Floats  # the average precision of each lane, and last that of the weights at the time


class Stacker(Learner):
    """Combines other lanes by a ranker that is trained again and again on the stream.

    A document is a query and the topics are its items. The features of a topic come from the scores
    that the other lanes gave it. The stacker keeps the last `window` labelled documents and trains
    a ranker on them right after every round whose number is a multiple of `refit`, wherever blocks
    end. So rankings do not depend on blocks, restarts or joins.

    Until the first refit all lanes have the same weight, on their scaled scores. From then on the
    stacker ranks by the newest weights, but only if the weights have done clearly better on the
    kept documents than the best of the lanes (see `proof`). Otherwise it follows that lane.

    Yue, Finley, Radlinski and Joachims, "A support vector method for optimizing average precision"
    (SIGIR 2007).
    """

    combines_lanes = True
    unshardable = (
        "it has a few weights and no model of topics. "
        "Leave out shards; the lanes that it combines may have them."
    )
    nonlinear = "it combines the scores of other lanes and has no weights of terms."
    summary = "combines other lanes, trained for average precision (SVM-map)"
    options = (
        Option("of", "", "the lanes to combine, as [lane,...] (default: all other topic lanes)"),
        Option("refit", 1000, "train again after this many rounds", least=1),
        Option(
            "window", 2000, "train on this many of the last labelled documents", least=1, most=10**6
        ),
        Option("cost", 1000.0, "C of the SVM: the price of an error", least=1e-6, most=1e9),
        Option("depth", 10, "train on this many topics of each lane", least=1, most=1000),
        Option("proof", 1.0, "standard errors to be ahead of the best lane, else copy it", least=0),
    )

    def __init__(
        self,
        of: str = "",
        refit: int = 1000,
        window: int = 2000,
        cost: float = 1000.0,
        depth: int = 10,
        proof: float = 1.0,
    ) -> None:
        self.of = of
        self.refit = refit
        self.window = window
        self.cost = cost
        self.depth = depth
        self.proof = proof
        self.weights: Floats = np.empty(0)
        self.followed = -1  # the lane whose scores it copies; -1: it ranks by the weights
        self.rounds = 0
        self.lessons: deque[Lesson] = deque(maxlen=window)

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Combine the scores that the other lanes gave the rows; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        if not len(self.weights):
            self.weights = np.zeros(EACH * len(others))
            self.weights[SCALED::EACH] = 1.0
        if not others or EACH * len(others) != len(self.weights):
            raise ScoresMismatchError(
                f"This stacker combines {len(self.weights) // EACH or 'at least 1'} lanes, and got "
                f"the scores of {len(others)}. Give it those of the same lanes each time."
            )
        lane_scores = np.stack([Scores.expect(lane, segment).table() for lane in others])
        done = 0
        for refit in self._refits(segment.steps):
            self._follow(segment.steps.between(done, refit), lane_scores, out)
            self._train()
            done = refit
        self._follow(segment.steps.between(done, len(segment.steps)), lane_scores, out)

    def _refits(self, steps: Steps) -> Iterator[int]:
        """After which steps it trains again."""
        learning = np.flatnonzero(steps.learn)
        first = self.refit - 1 - self.rounds % self.refit
        yield from (learning[first :: self.refit] + 1).tolist()

    def _follow(self, steps: Steps, lane_scores: Floats, out: Floats) -> None:
        """Take the steps between two refits; no ranking among them depends on their labels."""
        combine_rows(steps, lane_scores, self.weights, self.followed, self.depth, out)
        for step in np.flatnonzero(steps.learn).tolist():
            self.rounds += 1
            labels = steps.labels[steps.label_starts[step] : steps.label_starts[step + 1]]
            row, known = steps.row[step], steps.known[step]
            if 0 < len(labels) < known:
                taught = lesson_of(lane_scores[:, row, :known], labels, self.weights, self.depth)
                self.lessons.append(Lesson(*taught))

    def _train(self) -> None:
        """Train on the kept documents, then choose between the weights and the best lane."""
        if not self.lessons:
            return
        features, relevant, worths = zip(*self.lessons, strict=True)
        starts = np.cumsum([0, *map(len, relevant)])
        items = DenseItems(np.concatenate(features))
        queries = Queries(starts, np.concatenate(relevant), items)
        trained = train(queries, self.cost, max_searches=MAX_SEARCHES)
        if trained.queries:
            self.weights = trained.weights
        worth = np.stack(worths)
        best = int(np.argmax(np.add.reduce(worth[:, :-1], axis=0)))
        self.followed = -1 if is_ahead(worth[:, -1] - worth[:, best], self.proof) else best

    def forget(self, keep: Longs) -> None:
        """It keeps nothing by term."""

    def state(self) -> State:
        """The weights, and what is kept of documents."""
        width, kept = len(self.weights), list(self.lessons)
        worth = np.array([lesson.worth for lesson in kept])
        return {
            "weights": self.weights.copy(),
            "followed": np.array([self.followed, self.rounds], np.int64),
            "starts": np.cumsum([0, *(len(lesson.relevant) for lesson in kept)]),
            "features": np.concatenate([np.empty((0, width)), *(x.features for x in kept)]),
            "relevant": np.concatenate([np.empty(0, np.bool_), *(x.relevant for x in kept)]),
            "worth": worth.reshape(len(kept), width // EACH + 1),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` returned."""
        weights = floats(state, "weights", None)
        lanes = len(weights) // EACH
        followed, rounds = longs(state, "followed", 2, least=-1).tolist()
        if len(weights) % EACH or followed >= lanes or rounds < 0:
            raise InvalidArrayError(
                f"array followed has lane {followed} and {rounds} rounds, with {len(weights)} "
                f"weights, {EACH} per lane"
            )
        relevant = bools(state, "relevant", None)
        features = floats(state, "features", len(relevant), len(weights))
        worth = floats(state, "worth", None, lanes + 1)
        check_between("features", features, 0.0, 1.0)
        check_between("worth", worth, 0.0, 1.0)
        check_extent("worth", len(worth), self.window, "documents of the window")
        cuts = starts(state, "starts", len(relevant), len(worth))[1:-1]
        self.weights, self.followed, self.rounds = weights.copy(), followed, rounds
        self.lessons.clear()
        if len(worth):
            parts = np.split(features.copy(), cuts), np.split(relevant.copy(), cuts)
            self.lessons.extend(map(Lesson, *parts, worth.copy()))

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """There are weights for exactly the lanes that it combines."""
        if len(self.weights) not in (0, EACH * others):
            raise InvalidArrayError(
                f"array weights has {len(self.weights)} numbers, expected {EACH} for each of the "
                f"{others} lanes that are combined"
            )

    def size_bytes(self) -> int:
        """Memory of the weights and of what is kept of documents."""
        kept = sum(sum(array.nbytes for array in lesson) for lesson in self.lessons)
        return self.weights.nbytes + kept

    def max_bytes(self, terms: int, topics: int) -> int:
        """A window of documents, each with its relevant topics and the first topics of each lane.

        Terms do not matter. The number of lanes is known from the first documents on.
        """
        features = max(EACH, len(self.weights))
        items = min(topics, MAX_RELEVANT + self.depth * (features // EACH))
        lesson = items * (8 * features + 1) + 8 * (features // EACH + 1)
        return 8 * features + self.window * lesson
