"""Learning curves: each measure averaged over rounds 1..t, as t grows.

Sums are kept round by round, in order, so a curve does not depend on block boundaries. Points are
kept for every round up to 128 and then 64 to each doubling, powers of two among them, and always
for the last round: a stream of a million rounds has about a thousand points.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats
from learners.growing_array import Growing
from learners.jit import njit
from learners.learner import State
from learners.measures import COMPARED, MEASURES, measure_round
from learners.scores import Places, RowScores, Scores
from learners.segment import Steps

# What a kept point holds: the round, the rounds with topics, the sums of the measures, and of the
# round itself how many relevant topics, the rank of the first, and the wrong pairs.
ROUND, WITH_TOPICS, SUMS = 0, 1, 2
RELEVANT, FIRST_HIT, WRONG_PAIRS = range(SUMS + len(MEASURES), SUMS + len(MEASURES) + 3)
COLUMNS = SUMS + len(MEASURES) + 3
FORMER_COLUMNS = 11  # before there were r1, r5 and mrr


@njit
def is_kept(round_: int) -> bool:
    """Whether the curve keeps a point for this round."""
    step = 1
    while 128 * step <= round_:
        step *= 2
    return round_ % step == 0


class Totals(NamedTuple):
    """What a curve adds up from round to round."""

    tally: Floats  # the newest point, as sums
    found: Floats  # found[r] counts the relevant topics of rank r + 1
    recalled: Floats  # recalled[r] adds up their shares of the topics of their documents
    topic_rounds: Floats  # of each topic: the rounds in which it was relevant
    topic_loss: Floats  # of each topic: the shares of irrelevant topics that scored as high then


@njit
def follow_curve(
    steps: Steps, places: Places, totals: Totals, points: Floats, measured: Floats
) -> int:
    """Measure every learned row by the ranks of its labels; return how many points were kept.

    The measures of each round by itself are written to `measured`.
    """
    tally, found, recalled = totals.tally, totals.found, totals.recalled
    topic_rounds, topic_loss = totals.topic_rounds, totals.topic_loss
    kept = done = 0
    first = steps.label_starts[0]
    for step in range(len(steps.learn)):
        if not steps.learn[step]:
            continue
        start, stop = steps.label_starts[step], steps.label_starts[step + 1]
        relevant = steps.labels[start:stop]
        ranked = 0  # relevant topics that the ranking has; they come first in `places.ranks`
        for topic in relevant:
            ranked += topic < steps.ranked[step]
        ranks = places.ranks[start - first : start - first + ranked]
        above = places.above[start - first : stop - first]
        values = measured[done]
        done += 1
        measure_round(steps.known[step], ranks, above, places.hits[step], values)
        tally[ROUND] += 1.0
        tally[RELEVANT] = len(relevant)
        tally[FIRST_HIT] = np.nan
        tally[WRONG_PAIRS] = values[1]
        for i in range(len(values)):
            if not np.isnan(values[i]):
                tally[SUMS + i] += values[i]
        if len(relevant) > 0:
            tally[WITH_TOPICS] += 1.0
        if len(ranks) > 0:
            tally[FIRST_HIT] = ranks[0]
        for rank in ranks:
            found[rank - 1] += 1.0
            recalled[rank - 1] += 1.0 / len(relevant)
        irrelevant = steps.known[step] - len(relevant)
        for i in range(len(relevant)):
            topic_rounds[relevant[i]] += 1.0
            if irrelevant > 0:
                topic_loss[relevant[i]] += above[i] / irrelevant
        if is_kept(int(tally[ROUND])):
            points[kept] = tally
            kept += 1
    return kept


class Point(NamedTuple):
    """A point of a curve: averages over the rounds so far, None where none exists yet."""

    round: int
    values: dict[str, float | None]
    relevant: int
    first_hit: int | None
    wrong_pairs: int


class LearningCurve(ABC):
    """A curve: the newest tally, and those that were kept of it; what they hold, subclasses say."""

    measures: ClassVar[Sequence[str]]  # all that its points have
    summed: ClassVar[Sequence[str]]  # those that are means of rounds
    compared: ClassVar[Sequence[str]]  # the losses by which lanes are compared

    def __init__(self, columns: int) -> None:
        self._tally: Floats = np.zeros(columns)
        self._points: Floats = np.zeros((0, columns))

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return int(self._tally[ROUND])

    @property
    def spans(self) -> Sequence[float]:
        """How large the compared losses of a round can be."""
        return (1.0,) * len(self.compared)

    @property
    def kept(self) -> int:
        """Points kept so far."""
        return len(self._points)

    def points(self, start: int = 0) -> Iterator[Point]:
        """The kept points from the `start`-th on."""
        for row in self._points[start:]:
            yield self.as_point(row)

    def last(self) -> Point:
        """Where the curve stands now, kept or not."""
        return self.as_point(self._tally)

    def tally(self) -> Floats:
        """The newest point as it is summed up (a copy): what `as_point` takes."""
        return self._tally.copy()

    def all_points(self) -> Iterator[Point]:
        """The kept points, and the last round if it is not among them."""
        yield from self.points()
        if self.rounds and not is_kept(self.rounds):
            yield self.last()

    @abstractmethod
    def follow(self, steps: Steps, scores: RowScores) -> Floats:
        """Add the rounds among `steps`, each measured by the scores that its row was ranked with.

        Returns the measures of these rounds, one row per round. Scores of another label kind are a
        ScoresMismatchError.
        """

    def topic_losses(self) -> tuple[Floats, Floats] | None:
        """The rounds and the summed loss of each topic; None if the lane does not rank topics."""
        return None

    def graph(self) -> dict[str, list[float] | None]:
        """Precision and recall at every cut of a ranking, by name; empty if there is no ranking."""
        return {}

    @property
    @abstractmethod
    def rounds_with_topics(self) -> int:
        """Rounds whose document had at least one label."""

    @abstractmethod
    def derived(self) -> dict[str, float | None]:
        """What is not a mean of rounds, but comes of all of them together."""

    @staticmethod
    @abstractmethod
    def as_point(row: Floats) -> Point:
        """A tally as averages."""

    @staticmethod
    @abstractmethod
    def sums(row: Floats) -> dict[str, float]:
        """The sums in a tally, by measure; one that does not exist is left out."""

    @abstractmethod
    def state(self) -> State:
        """Everything that the curve depends on, as named arrays (copies)."""

    @abstractmethod
    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""


class TopicCurve(LearningCurve):
    """The cumulative measures of one lane."""

    measures = summed = MEASURES
    compared = tuple(MEASURES[column] for column in COMPARED)

    def __init__(self) -> None:
        super().__init__(COLUMNS)
        self._found = Growing(1)
        self._recalled = Growing(1)
        self._topic_rounds = Growing(1)
        self._topic_loss = Growing(1)

    @property
    def rounds_with_topics(self) -> int:
        """Rounds whose document had at least one topic."""
        return int(self._tally[WITH_TOPICS])

    def follow(self, steps: Steps, scores: RowScores) -> Floats:
        """Add the rounds among `steps`, each measured by the scores its row was ranked with.

        Returns the measures of these rounds, a row each, NaN where one does not exist.
        """
        scores = Scores.expect(scores)
        rounds = int(np.count_nonzero(steps.learn))
        for array in (self._found, self._recalled, self._topic_rounds, self._topic_loss):
            array.grow(scores.topics)
        points = np.empty((rounds, COLUMNS))
        measured = np.empty((rounds, len(MEASURES)))
        totals = Totals(
            self._tally, self._found.room, self._recalled.room, self._topic_rounds.room,
            self._topic_loss.room,
        )  # fmt: skip
        kept = follow_curve(steps, scores.places(steps), totals, points, measured)
        if kept:
            self._points = np.concatenate((self._points, points[:kept]))
        return measured

    @staticmethod
    def as_point(row: Floats) -> Point:
        """See `as_point`."""
        return as_point(row)

    @staticmethod
    def sums(row: Floats) -> dict[str, float]:
        """The sums of the measures."""
        sums = zip(MEASURES, row[SUMS:].tolist(), strict=False)
        return {measure: total for measure, total in sums if not math.isnan(total)}

    def topic_losses(self) -> tuple[Floats, Floats]:
        """Of each topic the rounds in which it was relevant, and the sum of its loss (copies).

        Its loss in a round is the share of the irrelevant topics ranked level with or above it: its
        own part of loss 3. 0 to 1, lower is better; 0 if no topic was irrelevant.
        """
        return self._topic_rounds.copy(), self._topic_loss.copy()

    def precision_recall(self) -> tuple[Floats, Floats]:
        """Document-averaged precision and recall at r = 1, 2, .. k."""
        found, recalled = self._found.view, self._recalled.view
        at = np.arange(1, len(found) + 1)
        documents = self._tally[WITH_TOPICS]
        return np.cumsum(found) / at / documents, np.cumsum(recalled) / documents

    def graph(self) -> dict[str, list[float] | None]:
        """Precision and recall at every cut of a ranking; None before the first labelled round."""
        if not self.rounds_with_topics:
            return {"precision": None, "recall": None}
        precision, recall = self.precision_recall()
        return {"precision": precision.tolist(), "recall": recall.tolist()}

    def derived(self) -> dict[str, float | None]:
        """The best F1, and the harmonic rank."""
        mrr = self.last().values["mrr"]
        return {"harmonic_rank": 1.0 / mrr if mrr else None, "max_f1": self.max_f1()}

    def max_f1(self) -> float | None:
        """The best F1 over all cuts r, of document-averaged precision and recall."""
        if not self.rounds_with_topics:
            return None
        precision, recall = self.precision_recall()
        both = precision + recall
        harmonic = 2 * precision * recall / np.where(both > 0, both, 1)
        return float(harmonic.max())

    def state(self) -> State:
        """The sums and the kept points, as named arrays (copies)."""
        return {
            "tally": self._tally.copy(),
            "points": self._points.copy(),
            "found": self._found.copy(),
            "recalled": self._recalled.copy(),
            "topic_rounds": self._topic_rounds.copy(),
            "topic_loss": self._topic_loss.copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self._tally = in_columns(np.array(state["tally"], np.float64))
        self._points = in_columns(np.array(state["points"], np.float64))
        self._found.load(state["found"])
        self._recalled.load(state["recalled"])
        if "topic_rounds" in state:  # older versions did not look at topics: then it begins here
            self._topic_rounds.load(state["topic_rounds"])
            self._topic_loss.load(state["topic_loss"])


def in_columns(rows: Floats) -> Floats:
    """Rows, maybe of an older version; sums that it did not keep do not exist: NaN, for good."""
    missing = COLUMNS - rows.shape[-1]
    if not missing:
        return rows
    old, last = np.split(rows, [-3], axis=-1)
    return np.concatenate((old, np.full((*rows.shape[:-1], missing), np.nan), last), axis=-1)


def as_point(row: Floats) -> Point:
    """Averages from a row of sums: losses over all rounds, measures over those with topics."""
    values: dict[str, float | None] = {}
    for i, measure in enumerate(MEASURES):
        over = row[ROUND] if measure.startswith("loss") else row[WITH_TOPICS]
        exists = over and not np.isnan(row[SUMS + i])
        values[measure] = float(row[SUMS + i] / over) if exists else None
    first_hit = None if np.isnan(row[FIRST_HIT]) else int(row[FIRST_HIT])
    return Point(int(row[ROUND]), values, int(row[RELEVANT]), first_hit, int(row[WRONG_PAIRS]))
