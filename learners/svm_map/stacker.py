"""The stacker: a lane that combines the scores of others, trained for average precision.

A document is a query and the topics are its items; what the other lanes said of a topic are its
features. The stacker keeps the last documents whose labels it knows, and every so many rounds it
trains a ranker on them (`svm_map.py`). That happens right after a round whose number is a multiple
of `refit`, wherever blocks end, so rankings do not depend on blocks, restarts or joins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit
from learners.learner import Learner, State
from learners.options import Option
from learners.scores import DenseScores, RowScores, Scores, ScoresMismatchError
from learners.segment import Segment, Steps
from learners.svm_map.features import DenseItems
from learners.svm_map.trainer import Queries, train

SCALED, PLACE, LEAD = range(3)  # the features that a topic has of each lane
EACH = 3
MAX_SEARCHES = 500  # of one refit, so that the stream never waits for long


@njit
def describe(values: Floats, depth: int, scaled: Floats, places: Floats, leads: Floats) -> None:
    """What each lane said of the topics, on a scale that is the same for all lanes.

    `scaled` is the score from 0 for the last topic to 1 for the first, `places` one over the rank
    of the first `depth` topics and 0 for the others, and `leads` how far the first topic is ahead
    of the second, 0 for all others. Equal scores are ranked by index.
    """
    topics = values.shape[1]
    best = np.empty(min(depth, topics), np.int64)
    scaled[:], places[:], leads[:] = 0.0, 0.0, 0.0
    for lane in range(len(values)):
        mine = values[lane]
        filled = 0
        low = high = mine[0]
        for topic in range(topics):
            low, high = min(low, mine[topic]), max(high, mine[topic])
            if filled == len(best) and mine[topic] <= mine[best[filled - 1]]:
                continue
            place = min(filled, len(best) - 1)
            while place > 0 and mine[topic] > mine[best[place - 1]]:
                best[place] = best[place - 1]
                place -= 1
            best[place] = topic
            filled = min(filled + 1, len(best))
        for place in range(filled):
            places[lane, best[place]] = 1.0 / (place + 1)
        span = high - low
        if not 0.0 < span < np.inf:
            continue  # it says nothing, or nothing that can be compared
        second = 0.0
        for topic in range(topics):
            scaled[lane, topic] = (mine[topic] - low) / span
            if topic != best[0]:
                second = max(second, scaled[lane, topic])
        leads[lane, best[0]] = scaled[lane, best[0]] - second


@njit
def weigh(scaled: Floats, places: Floats, leads: Floats, weights: Floats, scores: Floats) -> None:
    """The scores of topics by the weights of their features, lane after lane."""
    for topic in range(scaled.shape[1]):
        score = 0.0
        for lane in range(len(scaled)):
            score += weights[EACH * lane + SCALED] * scaled[lane, topic]
            score += weights[EACH * lane + PLACE] * places[lane, topic]
            score += weights[EACH * lane + LEAD] * leads[lane, topic]
        scores[topic] = score


@njit
def combine_rows(
    step_row: Ints, step_learn: Bools, step_known: Ints, said: Floats, weights: Floats,
    followed: int, depth: int, scores: Floats,
) -> None:  # fmt: skip
    """Score the rows that are ranked: by the weights, or just as the lane that is followed."""
    lanes = len(said)
    for step in range(len(step_row)):
        row, known = step_row[step], step_known[step]
        if step_learn[step] or known == 0:
            continue
        if followed >= 0:
            scores[row, :known] = said[followed, row, :known]
            continue
        scaled, places = np.empty((lanes, known)), np.empty((lanes, known))
        leads = np.empty((lanes, known))
        describe(said[:, row, :known], depth, scaled, places, leads)
        weigh(scaled, places, leads, weights, scores[row])


@njit
def average_precision(scores: Floats, labels: Ints) -> float:
    """Of the ranking by these scores, ties by index."""
    ranks = np.empty(len(labels), np.int64)
    for i in range(len(labels)):
        mine = labels[i]
        rank = 1
        for topic in range(len(scores)):
            ahead = scores[topic] > scores[mine]
            rank += ahead or (scores[topic] == scores[mine] and topic < mine)
        ranks[i] = rank
    ranks.sort()
    total = 0.0
    for i in range(len(ranks)):
        total += (i + 1) / ranks[i]
    return total / len(ranks)


@njit
def lesson_of(
    said: Floats, labels: Ints, weights: Floats, depth: int
) -> tuple[Floats, Bools, Floats]:
    """What a labelled document teaches.

    The features of its items, which of them are relevant, and the average precision of each lane
    and, last, of the weights. Its items are the relevant topics and the first `depth` of each lane:
    those below change little and are many.
    """
    lanes, topics = said.shape
    scaled, places = np.empty((lanes, topics)), np.empty((lanes, topics))
    leads, combined = np.empty((lanes, topics)), np.empty(topics)
    describe(said, depth, scaled, places, leads)
    weigh(scaled, places, leads, weights, combined)
    worth = np.empty(lanes + 1)
    for lane in range(lanes):
        worth[lane] = average_precision(said[lane], labels)
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
    """Whether gains are hardly by chance: they add up to more than so many standard errors."""
    total = squares = 0.0
    for gain in gains:
        total += gain
        squares += gain * gain
    return total > 0.0 and total * total > proof * proof * squares


class Lesson(NamedTuple):
    """What is kept of a labelled document."""

    features: Floats  # items x features
    relevant: Bools  # of each item
    worth: Floats  # the average precision of each lane, and last that of the weights then


class Stacker(Learner):
    """Combines other lanes by a ranker that is trained anew as the stream goes on.

    Until the first refit all lanes count alike, by their scaled scores. From then on it ranks by
    the newest weights if, over the documents that it keeps, the weights of the time have done
    clearly better than the best of the lanes (see `proof`); if not, it says what that lane says.
    """

    combines_lanes = True
    unshardable = (
        "it has a few weights and no model of topics. "
        "Leave out shards; the lanes that it combines may have them."
    )
    summary = "combines other lanes, trained for average precision (SVM-map)"
    options = (
        Option("of", "", "the lanes to combine, as [lane,...] (default: all other topic lanes)"),
        Option("refit", 1000, "rounds from one training to the next", least=1),
        Option(
            "window", 2000, "labelled documents to train on, the last ones", least=1, most=10**6
        ),
        Option("cost", 1000.0, "the price of a slack: C of the SVM", least=1e-6, most=1e9),
        Option("depth", 10, "first topics of each lane to train on", least=1, most=1000),
        Option(
            "proof", 1.0, "standard errors to be ahead of its best lane by, or follow it", least=0
        ),
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
        self.followed = -1  # the lane that has done better, if any
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
        said = np.stack([Scores.expect(lane, segment).table() for lane in others])
        done = 0
        for refit in self._refits(segment.steps):
            self._follow(segment.steps.between(done, refit), said, out)
            self._train()
            done = refit
        self._follow(segment.steps.between(done, len(segment.steps)), said, out)

    def _refits(self, steps: Steps) -> Iterator[int]:
        """Behind which steps it trains anew."""
        learning = np.flatnonzero(steps.learn)
        first = self.refit - 1 - self.rounds % self.refit
        yield from (learning[first :: self.refit] + 1).tolist()

    def _follow(self, steps: Steps, said: Floats, out: Floats) -> None:
        """Take steps between two refits: no ranking among them depends on what they teach."""
        combine_rows(
            steps.row, steps.learn, steps.known, said, self.weights, self.followed, self.depth,
            out,
        )  # fmt: skip
        for step in np.flatnonzero(steps.learn).tolist():
            self.rounds += 1
            labels = steps.labels[steps.label_starts[step] : steps.label_starts[step + 1]]
            row, known = steps.row[step], steps.known[step]
            if 0 < len(labels) < known:
                taught = lesson_of(said[:, row, :known], labels, self.weights, self.depth)
                self.lessons.append(Lesson(*taught))

    def _train(self) -> None:
        """Train on the documents that are kept, and see whether a lane has done better."""
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
        """It knows no terms."""

    def state(self) -> State:
        """The weights, and the documents that are kept."""
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
        """Go on from a state that `state` gave."""
        self.weights = np.array(state["weights"], np.float64)
        self.followed, self.rounds = map(int, np.array(state["followed"], np.int64))
        cuts = np.array(state["starts"], np.int64)[1:-1]
        self.lessons.clear()
        if len(state["worth"]):
            features = np.split(np.array(state["features"], np.float64), cuts)
            relevant = np.split(np.array(state["relevant"], np.bool_), cuts)
            worth = np.array(state["worth"], np.float64)
            self.lessons.extend(map(Lesson, features, relevant, worth))

    def size_bytes(self) -> int:
        """The weights and the documents that are kept."""
        kept = sum(sum(array.nbytes for array in lesson) for lesson in self.lessons)
        return self.weights.nbytes + kept
