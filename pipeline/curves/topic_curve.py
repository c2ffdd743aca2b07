"""Learning curves: each measure averaged over rounds 1..t, as t grows.

Sums are added round by round, in order, so a curve does not depend on block boundaries. A curve
keeps a point for every round up to 128, then 64 points per doubling, including the powers of two,
and always has the last round. A stream of a million rounds has about a thousand points.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats
from learners.checks import InvalidArrayError, array_of, check_extent
from learners.growing_array import GrowingArray
from learners.jit import njit
from learners.learner import State
from learners.measures import AVERAGE_PRECISION, COMPARED, MEASURES, measure_round
from learners.scores import Places, RowScores, Scores
from learners.segment import Steps
from pipeline.curves.curve_checks import ROUND, check_points, sums_of
from pipeline.curves.lane_changes import LaneChanges

# The columns of a kept point: the round, the number of rounds with topics, sums of the measures.
# Then of this round alone: relevant topics, rank of the best relevant topic, wrong pairs.
WITH_TOPICS, SUMS = 1, 2
RELEVANT, FIRST_HIT, WRONG_PAIRS = range(SUMS + len(MEASURES), SUMS + len(MEASURES) + 3)
COLUMNS = SUMS + len(MEASURES) + 3
FORMER_COLUMNS = 11  # of older snapshots, without r1, r5 and mrr


@njit
def is_kept(round_: int) -> bool:
    """Return whether the curve keeps a point for this round."""
    step = 1
    while 128 * step <= round_:
        step *= 2
    return round_ & (step - 1) == 0


class Totals(NamedTuple):
    """What a curve adds up from round to round."""

    tally: Floats  # the newest point, as sums
    found: Floats  # found[r] counts the relevant topics of rank r + 1
    recalled: Floats  # recalled[r] adds 1 / (relevant topics of the document) for each of them
    topic_rounds: Floats  # per topic: rounds in which it was relevant
    topic_loss: Floats  # per topic: sum of the shares of irrelevant topics that scored as high


@njit
def follow_curve(
    steps: Steps, places: Places, totals: Totals, points: Floats, measured: Floats
) -> int:
    """Measure every learned row by the ranks of its labels; return how many points were kept.

    The measures of each round by itself are written to `measured`.
    """
    step_learn, step_known = steps.learn, steps.known
    label_starts, labels, step_ranked = steps.label_starts, steps.labels, steps.ranked
    tally, found, recalled = totals.tally, totals.found, totals.recalled
    topic_rounds, topic_loss = totals.topic_rounds, totals.topic_loss
    all_ranks, all_above, hits = places
    kept = done = 0
    first = label_starts[0]
    for step in range(len(step_learn)):
        if not step_learn[step]:
            continue
        start, stop = label_starts[step], label_starts[step + 1]
        relevant = labels[start:stop]
        ranked = 0  # relevant topics that the ranking has; they come first in `places.ranks`
        for topic in relevant:
            ranked += topic < step_ranked[step]
        ranks = all_ranks[start - first : start - first + ranked]
        above = all_above[start - first : stop - first]
        values = measured[done]
        done += 1
        measure_round(step_known[step], ranks, above, hits[step], values)
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
        irrelevant = step_known[step] - len(relevant)
        for i in range(len(relevant)):
            topic_rounds[relevant[i]] += 1.0
            if irrelevant > 0:
                topic_loss[relevant[i]] += above[i] / irrelevant
        if is_kept(int(tally[ROUND])):
            points[kept] = tally
            kept += 1
    return kept


class Point(NamedTuple):
    """A point of a curve: averages over the rounds so far, and the round itself.

    For a rank curve the last three are the true rank, the predicted rank and their distance.
    """

    round: int
    values: dict[str, float | None]  # averages by measure; None: it does not exist yet
    relevant: int  # relevant topics of the document
    first_hit: int | None  # rank of the best relevant topic; None: the ranking has none
    wrong_pairs: int


class LearningCurve(ABC):
    """A curve: the current sums, and the kept points. Subclasses define the columns."""

    measures: ClassVar[Sequence[str]]  # all measures of its points
    summed: ClassVar[Sequence[str]]  # the measures that are means of rounds
    compared: ClassVar[Sequence[str]]  # the losses by which lanes are compared
    watched: ClassVar[str]  # the loss whose rises are found
    sum_columns: ClassVar[slice]  # the columns of a point that are sums over rounds
    labelled_column: ClassVar[int]  # the column that counts rounds with at least one label

    def __init__(self, columns: int, has_topics: bool) -> None:
        self.changes = LaneChanges(has_topics)
        self._tally: Floats = np.zeros(columns)
        self._points: Floats = np.zeros((0, columns))

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return int(self._tally[ROUND])

    @property
    def spans(self) -> Sequence[float]:
        """The largest value of each compared loss in one round."""
        return (1.0,) * len(self.compared)

    @property
    def kept(self) -> int:
        """Points kept so far."""
        return len(self._points)

    def points(self, start: int = 0) -> Iterator[Point]:
        """Yield the kept points, beginning with number `start`."""
        for row in self._points[start:]:
            yield self.as_point(row)

    def last(self) -> Point:
        """Return the point of the last round, whether or not it is kept."""
        return self.as_point(self._tally)

    def rows(self) -> Floats:
        """Return the sums of `all_points`, one row per point."""
        if self.rounds and not is_kept(self.rounds):
            return np.concatenate((self._points, self._tally[None]))
        return self._points

    def tally(self) -> Floats:
        """Return the current sums (a copy), which `as_point` turns into a point."""
        return self._tally.copy()

    def all_points(self) -> Iterator[Point]:
        """Yield the kept points, and the last round if it is not kept."""
        yield from map(self.as_point, self.rows())

    @abstractmethod
    def follow(self, steps: Steps, scores: RowScores, places: Places | None = None) -> Floats:
        """Add the rounds among `steps`, each measured by the scores that its row was ranked with.

        Returns the measures of these rounds, one row per round. Scores of another label kind are a
        ScoresMismatchError. `places` are the places of the labels in rankings that are not in order
        of the scores.
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
        """Return the measures that are computed from all rounds together."""

    @staticmethod
    @abstractmethod
    def as_point(row: Floats) -> Point:
        """Return the point of a row of sums."""

    @staticmethod
    @abstractmethod
    def sums(row: Floats) -> dict[str, float]:
        """Return the sums of a row by measure, without measures that do not exist."""

    @abstractmethod
    def state(self) -> State:
        """Return the whole state as named arrays (copies)."""

    @abstractmethod
    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave; see `Learner.restore`."""

    @abstractmethod
    def check_references(self, topics: int) -> None:
        """Raise `InvalidArrayError` if there is something of a topic that the stream lacks."""


class TopicCurve(LearningCurve):
    """The curve of a topic lane."""

    measures = summed = MEASURES
    compared = tuple(MEASURES[column] for column in COMPARED)
    watched = "1 - average_precision"
    sum_columns = slice(ROUND, SUMS + len(MEASURES))
    labelled_column = WITH_TOPICS

    def __init__(self) -> None:
        super().__init__(COLUMNS, has_topics=True)
        self._found = GrowingArray(1)
        self._recalled = GrowingArray(1)
        self._topic_rounds = GrowingArray(1)
        self._topic_loss = GrowingArray(1)

    @property
    def rounds_with_topics(self) -> int:
        """Rounds whose document had at least one topic."""
        return int(self._tally[WITH_TOPICS])

    def follow(self, steps: Steps, scores: RowScores, places: Places | None = None) -> Floats:
        """Add the rounds among `steps`, each measured by the scores its row was ranked with.

        Returns the measures of these rounds, a row each, NaN where one does not exist.
        """
        scores = Scores.expect(scores)
        places = scores.places(steps) if places is None else places
        return self.follow_places(steps, places, scores.topics)

    def follow_places(self, steps: Steps, places: Places, topics: int) -> Floats:
        """As `follow`, with the ranks of the labels; all labels and ranks are below `topics`."""
        rounds = int(np.count_nonzero(steps.learn))
        grown = (self._found, self._recalled, self._topic_rounds, self._topic_loss)
        for array in grown:
            array.grow(topics)
        points = np.empty((rounds, COLUMNS))
        measured = np.empty((rounds, len(MEASURES)))
        totals = Totals(self._tally, *(array.room for array in grown))
        before = self.rounds
        kept = follow_curve(steps, places, totals, points, measured)
        if kept:
            self._points = np.concatenate((self._points, points[:kept]))
        self.changes.follow(1.0 - measured[:, AVERAGE_PRECISION], steps, topics, before)
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
        """Return, per topic, the rounds in which it was relevant and the sum of its loss (copies).

        The loss of a topic in a round is the share of irrelevant topics with an equal or higher
        score: its part of loss3. It is 0 to 1, lower is better, and 0 if no topic was irrelevant.
        """
        return self._topic_rounds.copy(), self._topic_loss.copy()

    def precision_recall(self) -> tuple[Floats, Floats]:
        """Return document-averaged precision and recall at the cut-off ranks 1, 2, ... k."""
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
        """Return the best F1 and the harmonic rank."""
        mrr = self.last().values["mrr"]
        return {"harmonic_rank": 1.0 / mrr if mrr else None, "max_f1": self.max_f1()}

    def max_f1(self) -> float | None:
        """Return the best F1 of document-averaged precision and recall over all cut-off ranks."""
        if not self.rounds_with_topics:
            return None
        precision, recall = self.precision_recall()
        both = precision + recall
        harmonic = 2 * precision * recall / np.where(both > 0, both, 1)
        return float(harmonic.max())

    def state(self) -> State:
        """Return the sums and the kept points as named arrays (copies)."""
        return {
            "tally": self._tally.copy(),
            "points": self._points.copy(),
            "found": self._found.copy(),
            "recalled": self._recalled.copy(),
            "topic_rounds": self._topic_rounds.copy(),
            "topic_loss": self._topic_loss.copy(),
            **self.changes.state(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        columns = array_of(state, "points", np.float64, None, None).shape[1]
        columns = FORMER_COLUMNS if columns == FORMER_COLUMNS else COLUMNS
        tally = in_columns(array_of(state, "tally", np.float64, columns))
        points = in_columns(array_of(state, "points", np.float64, None, columns))
        check_points(tally, points, (WITH_TOPICS, RELEVANT, WRONG_PAIRS))
        found = sums_of(state, "found", None)
        recalled = sums_of(state, "recalled", len(found))
        if tally[WITH_TOPICS] > 0 and not len(found):
            raise InvalidArrayError("array found is empty, but array tally has rounds with topics")
        if "topic_rounds" in state:  # older snapshots lack them; counting starts here
            topic_rounds = sums_of(state, "topic_rounds", None)
            self._topic_loss.load(sums_of(state, "topic_loss", len(topic_rounds)))
            self._topic_rounds.load(topic_rounds)
        self.changes.restore(state)
        self._tally, self._points = tally.copy(), points.copy()
        self._found.load(found)
        self._recalled.load(recalled)

    def check_references(self, topics: int) -> None:
        """There are no more ranks and topics than the stream has topics."""
        check_extent("found", self._found.shape[0], topics, "topics")
        check_extent("topic_rounds", self._topic_rounds.shape[0], topics, "topics")
        self.changes.check_references(topics)


def in_columns(rows: Floats) -> Floats:
    """Return rows with all columns; sums that an older version did not keep stay NaN."""
    missing = COLUMNS - rows.shape[-1]
    if not missing:
        return rows
    old, last = np.split(rows, [-3], axis=-1)
    return np.concatenate((old, np.full((*rows.shape[:-1], missing), np.nan), last), axis=-1)


def as_point(row: Floats) -> Point:
    """Return the averages of a row: losses over all rounds, measures over rounds with topics."""
    values: dict[str, float | None] = {}
    for i, measure in enumerate(MEASURES):
        over = row[ROUND] if measure.startswith("loss") else row[WITH_TOPICS]
        exists = over and not np.isnan(row[SUMS + i])
        values[measure] = float(row[SUMS + i] / over) if exists else None
    first_hit = None if np.isnan(row[FIRST_HIT]) else int(row[FIRST_HIT])
    return Point(int(row[ROUND]), values, int(row[RELEVANT]), first_hit, int(row[WRONG_PAIRS]))
