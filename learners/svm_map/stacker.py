"""The stacker: a learner that combines the scores of other lanes, trained for average precision.

Yue, Finley, Radlinski and Joachims, "A support vector method for optimizing average precision"
(SIGIR 2007), whose ranker `trainer.py` trains.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Longs
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
from learners.segment import Segment, Steps, labels_of
from learners.svm_map.candidates import (
    APPROVED,
    BLENDS,
    BY_WEIGHTS,
    COLUMNS,
    FIXED,
    PROBATION,
    SQUARES,
    Choice,
    Ranker,
    Records,
    blend,
    choose,
    close_period,
    measure,
    record,
)
from learners.svm_map.features import DenseItems
from learners.svm_map.lessons import Lesson, LessonRoom, most_items, write_lesson
from learners.svm_map.loss_augmented import total_of
from learners.svm_map.topic_features import (
    EACH,
    describe,
    new_features,
    place_of_zero,
    shift_to_zero,
    topics_scored,
)
from learners.svm_map.trainer import Queries, train

MAX_RELEVANT = 1000  # topics of a document, for `max_bytes`
MAX_SEARCHES = 500  # in one refit, so that the stream never waits for long
EARLY = (8, 4, 2)  # it trains also after these parts of the first `refit` rounds
# Older snapshots have fewer blends. Each blend goes on with the record of the one that it was, or
# of the one that it was made from.
FORMER_BLENDS = 12
FORMER = (0, 1, 2, 3, 4, 6, 7, 5, 0, 1, 8, 9, 8, 9, 10, 11, 10, 11)
STEPS_AT_ONCE = 128  # bounds the room for lessons


@njit
def rank_row(values: Floats, choice: Choice, ranker: Ranker, out: Floats) -> None:
    """Write the scores of a document, from the scores of each lane (lanes x topics)."""
    lanes = len(values)
    if choice.chosen < lanes:
        out[: values.shape[1]] = values[choice.chosen]
        return
    topics = topics_scored(values)
    if topics == 0:
        return
    features, blends = new_features(lanes, topics), np.empty((BLENDS, topics))
    describe(values[:, :topics], ranker.depth, features)
    blend(features, choice, ranker, blends)
    scores = blends[choice.chosen - lanes]
    shift_to_zero(scores, place_of_zero(values[:, :topics]))
    out[:topics] = scores


@njit
def follow_steps(
    steps: Steps,
    lane_scores: Floats,
    ranker: Ranker,
    decay: float,
    rounds: int,
    records: Records,
    room: LessonRoom,
    ends: Longs,
    out: Floats,
) -> int:
    """Take the steps between two trainings; return the number of lessons written to `room`."""
    lanes = len(lane_scores)
    choice = choose(records, ranker, lanes)
    lessons = end = 0
    for step in range(len(steps.row)):
        row, known = steps.row[step], steps.known[step]
        values = lane_scores[:, row, :known]
        if not steps.learn[step]:
            if known > 0:
                rank_row(values, choice, ranker, out[row])
            continue
        rounds += 1
        labels = labels_of(steps.label_starts, steps.labels, step)
        topics = topics_scored(values)
        if topics == 0 or not 0 < len(labels) < known:
            continue
        is_label = np.zeros(known, np.bool_)
        for label in labels:
            is_label[label] = True
        features, blends = new_features(lanes, topics), np.empty((BLENDS, topics))
        describe(values[:, :topics], ranker.depth, features)
        blend(features, choice, ranker, blends)
        ahead = place_of_zero(values[:, :topics])
        losses = np.zeros((lanes + BLENDS, COLUMNS))
        for lane in range(lanes):
            measure(values[lane], known, known, labels, is_label, losses[lane])
        for i in range(BLENDS):
            if i < FIXED or ranker.exists[(i - FIXED) // BY_WEIGHTS]:
                measure(blends[i], ahead, known, labels, is_label, losses[lanes + i])
        record(losses, choice.leader, decay, records)
        choice = choose(records, ranker, lanes)
        relevant = 0
        for topic in range(topics):
            relevant += is_label[topic]
        if 0 < relevant < topics:
            end = write_lesson(features, is_label[:topics], ranker.depth, rounds, end, room)
            ends[lessons] = end
            lessons += 1
    return lessons


class Stacker(Learner):
    """Combines other lanes, and is not below the best of them.

    A document is a query and the topics are its items. The features of a topic come from the scores
    that the other lanes gave it. The stacker chooses, after every round, between its lanes and some
    blends of their scores (see `candidates`), by how they have ranked the documents so far. Two of
    the blends use a ranker. The stacker keeps the last `window` labelled documents and trains the
    ranker on them right after every round whose number is a multiple of `refit`, wherever blocks
    end. So rankings do not depend on blocks, restarts or joins.

    A newly trained ranker is on probation until the next training. It is used from then on if it
    has ranked the documents in between better than the ranker before.

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
        Option("cost", 10.0, "C of the SVM: the price of an error", least=1e-6, most=1e9),
        Option(
            "depth", 10, "train on this many topics of each lane, and below", least=1, most=1000
        ),
        Option("proof", 1.0, "standard errors by which training must be ahead", least=0),
    )

    def __init__(
        self,
        of: str = "",
        refit: int = 1000,
        window: int = 2000,
        cost: float = 10.0,
        depth: int = 10,
        proof: float = 1.0,
    ) -> None:
        self.of = of
        self.refit = refit
        self.window = window
        self.cost = cost
        self.depth = depth
        self.proof = proof
        self.rounds = 0
        self.lessons: deque[Lesson] = deque(maxlen=window)
        self._set_lanes(0)

    def _set_lanes(self, lanes: int) -> None:
        """Begin with this many lanes: nothing is trained and nothing is recorded."""
        self.ranker = Ranker(
            np.zeros((2, EACH * lanes)), np.zeros(2, np.bool_), self.depth, self.proof
        )
        candidates = lanes + BLENDS if lanes else 0
        self.records = Records(np.zeros((3, candidates, COLUMNS)), np.zeros(3))

    @property
    def lanes(self) -> int:
        """The number of lanes that it combines; 0 before the first document."""
        features: int = self.ranker.weights.shape[1]
        return features // EACH

    @property
    def chosen(self) -> int:
        """The candidate that it ranks by; one below `lanes` is a lane."""
        chosen: int = choose(self.records, self.ranker, self.lanes).chosen if self.lanes else 0
        return chosen

    def follow(self, segment: Segment, scores: RowScores, others: Sequence[RowScores] = ()) -> None:
        """Combine the scores that the other lanes gave the rows; see `Learner.follow`."""
        out = DenseScores.expect(scores, segment).matrix
        if not self.lanes:
            self._set_lanes(len(others))
        if not others or len(others) != self.lanes:
            raise ScoresMismatchError(
                f"This stacker combines {self.lanes or 'at least 1'} lanes, and got "
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
        rounds = self.rounds + 1 + np.arange(len(learning))
        early = [self.refit // part for part in EARLY]
        now = (rounds % self.refit == 0) | np.isin(rounds, early)
        yield from (learning[now] + 1).tolist()

    def _follow(self, steps: Steps, lane_scores: Floats, out: Floats) -> None:
        """Take the steps between two trainings."""
        for start in range(0, len(steps), STEPS_AT_ONCE):
            some = steps.between(start, min(start + STEPS_AT_ONCE, len(steps)))
            labels, known = np.diff(some.label_starts)[some.learn], some.known[some.learn]
            most = [
                most_items(of_step, self.lanes, self.depth, topics)
                for of_step, topics in zip(labels.tolist(), known.tolist(), strict=True)
            ]
            size = sum(most)
            room = LessonRoom(
                np.empty((size, EACH * self.lanes)), np.empty(size, np.bool_), np.empty(size)
            )
            ends = np.empty(len(most), np.int64)
            decay = 1.0 - 1.0 / max(2, self.window)
            count = follow_steps(
                some, lane_scores, self.ranker, decay, self.rounds, self.records, room, ends, out
            )
            self.rounds += len(most)
            begin = 0
            for end in ends[:count].tolist():
                part = slice(begin, end)
                features, relevant = room.features[part].copy(), room.relevant[part].copy()
                self.lessons.append(Lesson(features, relevant, room.weights[part].copy()))
                begin = end

    def _train(self) -> None:
        """Judge the weights on probation, then train new ones on the kept documents."""
        close_period(self.records, self.ranker, self.lanes)
        if not self.lessons:
            return
        features, relevant, weights = zip(*self.lessons, strict=True)
        starts = np.cumsum([0, *map(len, relevant)])
        items = DenseItems(np.concatenate(features))
        queries = Queries(starts, np.concatenate(relevant), items, np.concatenate(weights))
        trained = train(queries, self.cost, max_searches=MAX_SEARCHES).weights
        size = total_of(np.abs(trained))
        if size > 0.0:
            self.ranker.weights[PROBATION] = trained / size
            self.ranker.exists[PROBATION] = True

    def forget(self, keep: Longs) -> None:
        """It keeps nothing by term."""

    def state(self) -> State:
        """The weights, the records of the candidates, and what is kept of documents."""
        width, kept = EACH * self.lanes, list(self.lessons)
        return {
            "weights": self.ranker.weights.copy(),
            "trained": self.ranker.exists.copy(),
            "chosen": np.array([self.chosen, self.rounds], np.int64),
            "records": self.records.sums.copy(),
            "recorded": self.records.rounds.copy(),
            "starts": np.cumsum([0, *(len(lesson.relevant) for lesson in kept)]),
            "features": np.concatenate([np.empty((0, width)), *(x.features for x in kept)]),
            "relevant": np.concatenate([np.empty(0, np.bool_), *(x.relevant for x in kept)]),
            "item_weights": np.concatenate([np.empty(0), *(x.weights for x in kept)]),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` returned."""
        if "worth" in state and "records" not in state:
            self._begin_again(state)
            return
        weights = floats(state, "weights", 2, None)
        lanes, rest = divmod(weights.shape[1], EACH)
        candidates = lanes + BLENDS if lanes else 0
        chosen, rounds = longs(state, "chosen", 2).tolist()
        if rest or chosen >= max(1, lanes + FIXED + BY_WEIGHTS):
            raise InvalidArrayError(
                f"array chosen has candidate {chosen}, with {weights.shape[1]} weights, "
                f"{EACH} per lane"
            )
        exists = bools(state, "trained", 2)
        if exists[APPROVED] and not exists[PROBATION]:
            raise InvalidArrayError("array trained has approved weights, but none on probation")
        if lanes and state["records"].shape[1:2] == (lanes + FORMER_BLENDS,):
            former = floats(state, "records", 3, lanes + FORMER_BLENDS, COLUMNS)
            sums = former[:, [*range(lanes), *(lanes + blend for blend in FORMER)]]
        else:
            sums = floats(state, "records", 3, candidates, COLUMNS)
        check_between("records", sums[:, :, [*range(COLUMNS - 2), SQUARES]], 0.0)
        recorded = floats(state, "recorded", 3)
        check_between("recorded", recorded, 0.0)
        relevant = bools(state, "relevant", None)
        features = floats(state, "features", len(relevant), EACH * lanes)
        item_weights = floats(state, "item_weights", len(relevant))
        check_between("features", features, 0.0, 1.0)
        check_between("item_weights", item_weights, 1.0)
        cuts = starts(state, "starts", len(relevant))
        check_extent("starts", len(cuts) - 1, self.window, "documents of the window")
        self._set_lanes(lanes)
        self.ranker.weights[:], self.ranker.exists[:] = weights, exists
        self.records.sums[:], self.records.rounds[:] = sums, recorded
        self.rounds = rounds
        self.lessons.clear()
        if len(cuts) > 1:
            arrays = (features.copy(), relevant.copy(), item_weights.copy())
            self.lessons.extend(map(Lesson, *(np.split(x, cuts[1:-1]) for x in arrays)))

    def _begin_again(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from the state of a stacker that kept no records: with no record, as at first.

        Such a stacker trained on other examples, so nothing but the number of rounds is kept.
        """
        lanes, rest = divmod(len(floats(state, "weights", None)), EACH)
        if rest:
            raise InvalidArrayError(f"array weights does not have {EACH} numbers for each lane")
        self.rounds = int(longs(state, "followed", 2, least=-1)[1])
        self._set_lanes(lanes)
        self.lessons.clear()

    def check_references(self, terms: int, topics: int, others: int = 0) -> None:
        """There are weights for exactly the lanes that it combines."""
        if self.lanes not in (0, others):
            raise InvalidArrayError(
                f"array weights has {EACH * self.lanes} numbers, expected {EACH} for each of the "
                f"{others} lanes that are combined"
            )

    def size_bytes(self) -> int:
        """Memory of the weights, the records, and what is kept of documents."""
        kept = sum(sum(array.nbytes for array in lesson) for lesson in self.lessons)
        return self.ranker.weights.nbytes + self.records.sums.nbytes + kept

    def max_bytes(self, terms: int, topics: int) -> int:
        """A window of documents, each with as many topics as a lesson can have.

        Terms do not matter. The number of lanes is known from the first documents on.
        """
        lanes = max(1, self.lanes)
        items = most_items(MAX_RELEVANT, lanes, self.depth, topics)
        lesson = items * (8 * EACH * lanes + 9)
        fixed = 16 * EACH * lanes + 24 * COLUMNS * (lanes + BLENDS)
        return fixed + self.window * lesson
