"""How good a lane's decisions are: measures of its sets and probabilities, averaged over rounds.

Points are kept for the same rounds as in other curves. Rounds are added one by one, in order, so
nothing depends on block boundaries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Longs
from learners.checks import InvalidArrayError, array_of, check_between, floats
from learners.decisions.decided import CANDIDATES, Decisions
from learners.decisions.rules import bin_of, count_likely, f1_of, mark_relevant
from learners.jit import njit
from learners.learner import State
from learners.segment import Steps
from pipeline.curves.curve_checks import check_points
from pipeline.curves.has_id import HasId
from pipeline.curves.review_queue import ReviewQueue
from pipeline.curves.topic_curve import is_kept
from pipeline.curves.topic_quality import TopicQuality, TopicTables, add_topics, macro_f1_of

# The columns of a point: sums over all rounds, all documents and those marked for review, labelled
# or not, and two values that are not sums.
ROUND, RIGHT, ASSIGNED, RELEVANT, F1_SUM, EXACT, HAMMING, BRIER, REVIEWED, TRUSTED_F1 = range(10)
DECIDED, MARKED, MACRO_F1, CALIBRATION_ERROR = range(10, 14)
COLUMNS = 14
MEASURES = (
    "micro_f1", "macro_f1", "sample_f1", "set_precision", "set_recall", "subset_accuracy",
    "hamming_loss", "brier", "calibration_error", "review_share", "trusted_f1",
)  # fmt: skip
MARK_TOTALS = ("reviewed", "trusted_f1", "marked")  # of `totals_of`: those of marks
BINS = 20  # of the reliability diagram and of the gain of a review
ENOUGH_LEFT = 20  # documents that are not reviewed
COUNT, PREDICTED, HITS = range(3)  # of a bin: topics, sum of their probabilities, relevant ones
DOCUMENTS, CERTAINTY_SUM, BIN_F1 = range(3)  # of a bin: documents, sum of certainties, of their F1


class DecisionTotals(NamedTuple):
    """What a decision curve adds up."""

    tally: Floats
    reliability: Floats  # by probability
    review: Floats  # by certainty


@njit
def calibration_error_of(reliability: Floats) -> float:
    """How far probabilities are from what happened, in the mean over all candidates."""
    count = error = 0.0
    for i in range(BINS):
        count += reliability[i, COUNT]
        error += abs(reliability[i, PREDICTED] - reliability[i, HITS])
    return error / count if count > 0.0 else 0.0


@njit
def follow_decision_curve(
    steps: Steps, made: Decisions, totals: DecisionTotals, tables: TopicTables, topics: int,
    points: Floats,
) -> int:  # fmt: skip
    """Measure the decisions about every learned row; return how many points were kept.

    Marks for review are counted when a row is ranked: it may never be labelled.
    """
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels = steps.label_starts, steps.labels
    tally, reliability, review = totals
    chosen, likely, assigned = made.topics, made.probabilities, made.assigned
    hits = np.zeros(CANDIDATES)
    bins = np.zeros(CANDIDATES, np.int64)
    kept = 0
    for step in range(len(step_row)):
        row = step_row[step]
        if not step_learn[step]:
            tally[DECIDED] += 1.0
            tally[MARKED] += made.review[row]
            continue
        start, stop = label_starts[step], label_starts[step + 1]
        relevant = float(stop - start)
        count = count_likely(likely, row)
        mark_relevant(chosen, row, count, labels, start, stop, hits)
        for place in range(CANDIDATES):
            bins[place] = bin_of(likely[row, place], BINS)
        right = size = found = brier = 0.0
        unlikely = predicted = unlikely_hits = 0.0  # of the first bin, which most topics are in
        for place in range(count):
            hit, probability, at = hits[place], likely[row, place], bins[place]
            found += hit
            off = probability - hit
            brier += off * off
            if at > 0:
                reliability[at, COUNT] += 1.0
                reliability[at, PREDICTED] += probability
                reliability[at, HITS] += hit
            else:
                unlikely += 1.0
                predicted += probability
                unlikely_hits += hit
            is_assigned = assigned[row, place]
            size += is_assigned
            right += hit if is_assigned else 0.0
        reliability[0, COUNT] += unlikely
        reliability[0, PREDICTED] += predicted
        reliability[0, HITS] += unlikely_hits
        missed = relevant - found  # relevant topics without a probability
        known = max(step_known[step], 1)
        f1 = f1_of(right, size, relevant)
        tally[ROUND] += 1.0
        tally[RIGHT] += right
        tally[ASSIGNED] += size
        tally[RELEVANT] += relevant
        tally[F1_SUM] += f1
        tally[EXACT] += right == size and right == relevant
        tally[HAMMING] += (size + relevant - 2.0 * right) / known
        tally[BRIER] += (brier + missed) / known
        if made.review[row]:
            tally[REVIEWED] += 1.0
        else:
            tally[TRUSTED_F1] += f1
        at = bin_of(made.certainty[row], BINS)
        review[at, DOCUMENTS] += 1.0
        review[at, CERTAINTY_SUM] += made.certainty[row]
        review[at, BIN_F1] += f1
        round_ = int(tally[ROUND])
        add_topics(tables, made, row, count, bins, hits, found, labels, start, stop, round_)
        if is_kept(round_):
            tally[MACRO_F1] = macro_f1_of(tables, topics)
            tally[CALIBRATION_ERROR] = calibration_error_of(reliability)
            points[kept] = tally
            kept += 1
    return kept


def values_of(
    row: Floats, has_marks: bool, before: Floats | None = None
) -> dict[str, float | None]:
    """The measures of a point, by name; None if one does not exist (yet).

    With an earlier point, the measures of the rounds in between, without those that are no sums.
    """
    sums = (row if before is None else row - before).tolist()
    rounds, right, assigned, relevant = sums[:4]
    trusted = rounds - sums[REVIEWED]

    def quotient(part: float, whole: float) -> float | None:
        return part / whole if whole > 0.0 else None

    values: dict[str, float | None] = {
        "micro_f1": quotient(2.0 * right, assigned + relevant),
        "macro_f1": sums[MACRO_F1] if assigned + relevant > 0.0 and before is None else None,
        "sample_f1": quotient(sums[F1_SUM], rounds),
        "set_precision": quotient(right, assigned),
        "set_recall": quotient(right, relevant),
        "subset_accuracy": quotient(sums[EXACT], rounds),
        "hamming_loss": quotient(sums[HAMMING], rounds),
        "brier": quotient(sums[BRIER], rounds),
        # It is 0 only as long as no topic was given a probability.
        "calibration_error": (sums[CALIBRATION_ERROR] or None) if before is None else None,
        "review_share": quotient(sums[MARKED], sums[DECIDED]) if has_marks else None,
        "trusted_f1": quotient(sums[TRUSTED_F1], trusted) if has_marks else None,
    }
    return values


def totals_of(row: Floats, has_marks: bool) -> dict[str, float]:
    """What counters need: sums over all rounds; those of marks only if the lane has marks."""
    names = (
        "rounds", "right", "assigned", "relevant", "f1", "exact", "hamming", "brier",
        "reviewed", "trusted_f1", "decided", "marked",
    )  # fmt: skip
    totals = dict(zip(names, row.tolist(), strict=False))
    without = () if has_marks else MARK_TOTALS
    return {name: total for name, total in totals.items() if name not in without}


class DecisionPoint(NamedTuple):
    """A point of a decision curve: averages over the rounds so far."""

    round: int
    values: dict[str, float | None]


class ReviewPoint(NamedTuple):
    """What is gained if the least certain documents are reviewed."""

    share: float  # of all documents
    f1: float | None  # mean F1 of the sets of all other documents; None: there are none


class DecisionCurve:
    """The measures of a lane's decisions, the quality of each topic, and documents to review.

    `has_marks` says whether the lane marks documents for review. Otherwise the measures of marks do
    not exist, and there is no queue.
    """

    def __init__(self, has_marks: bool = True) -> None:
        self.has_marks = has_marks
        self._tally: Floats = np.zeros(COLUMNS)
        self._points: Floats = np.zeros((0, COLUMNS))
        self._reliability: Floats = np.zeros((BINS, 3))
        self._review: Floats = np.zeros((BINS, 3))
        self.topics = TopicQuality()
        self.queue = ReviewQueue() if has_marks else None

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return int(self._tally[ROUND])

    def follow(self, steps: Steps, decisions: Decisions, topics: int) -> None:
        """Add the rounds among `steps`, each measured by what was decided before it was learned."""
        points = np.empty((int(np.count_nonzero(steps.learn)), COLUMNS))
        totals = DecisionTotals(self._tally, self._reliability, self._review)
        tables = self.topics.room_for(topics)
        kept = follow_decision_curve(steps, decisions, totals, tables, topics, points)
        if kept:
            self._points = np.concatenate((self._points, points[:kept]))

    def name_documents(
        self, made: Decisions, ranked: Sequence[HasId], labelled: Sequence[HasId]
    ) -> None:
        """Learn the ids of the newest documents and rounds, which were added before.

        `ranked` are the documents that were decided about, and `labelled` are those of the rounds.
        `made` has the candidates in the order of the rankings.
        """
        if self.queue is not None:
            self.queue.add(made, ranked, int(self._tally[DECIDED]) - len(ranked))
        self.topics.add_rounds(labelled)

    def last_row(self) -> Floats:
        """The columns of a point after the last step, whether or not its round is kept."""
        row = self._tally.copy()
        row[MACRO_F1] = self.topics.macro_f1()
        row[CALIBRATION_ERROR] = calibration_error_of(self._reliability)
        return row

    def last(self) -> DecisionPoint:
        """The point of the last round, whether or not it is kept."""
        return DecisionPoint(self.rounds, values_of(self.last_row(), self.has_marks))

    def all_points(self) -> Iterator[DecisionPoint]:
        """Yield the kept points, and the last round if it is not kept."""
        for row in self._points:
            yield DecisionPoint(int(row[ROUND]), values_of(row, self.has_marks))
        if self.rounds and not is_kept(self.rounds):
            yield self.last()

    def recent(self) -> DecisionPoint:
        """The measures of about the last eighth of the rounds."""
        return self._recent_at(self._tally)

    def _recent_at(self, row: Floats) -> DecisionPoint:
        """The measures of about the last eighth of the rounds before a point."""
        round_ = int(row[ROUND])
        before = self._points[self._points[:, ROUND] <= round_ - round_ // 8]
        earlier = before[-1] if len(before) and round_ >= 8 else np.zeros(COLUMNS)
        return DecisionPoint(round_, values_of(row, self.has_marks, earlier))

    def with_recent(self) -> Iterator[tuple[DecisionPoint, DecisionPoint]]:
        """Yield all points, each with the measures of about the last eighth of its rounds."""
        for row in self._points:
            point = DecisionPoint(int(row[ROUND]), values_of(row, self.has_marks))
            yield point, self._recent_at(row)
        if self.rounds and not is_kept(self.rounds):
            yield self.last(), self.recent()

    def totals(self) -> dict[str, float]:
        """What counters need: sums over all rounds; those of marks only if the lane has marks."""
        return totals_of(self._tally, self.has_marks)

    def reliability(self) -> list[dict[str, float]]:
        """How often topics were relevant, by the probability that they were given."""
        return [
            {"count": int(count), "probability": predicted / count, "relevant": hits / count}
            for count, predicted, hits in self._reliability.tolist()
            if count
        ]

    def review_gain(self) -> Sequence[ReviewPoint]:
        """The mean F1 of what is left if the least certain documents are reviewed first."""
        documents: Longs = self._review[:, DOCUMENTS].astype(np.int64)
        total, f1 = int(documents.sum()), self._review[:, BIN_F1]
        points = list[ReviewPoint]()
        for first in np.flatnonzero(documents).tolist():
            left = int(documents[first:].sum())
            if points and left < ENOUGH_LEFT:  # chance decides how good these are
                break
            points.append(ReviewPoint(1.0 - left / total, float(f1[first:].sum()) / left))
        return points

    def state(self) -> State:
        """Return everything as named arrays (copies)."""
        return {
            "tally": self._tally.copy(),
            "points": self._points.copy(),
            "reliability": self._reliability.copy(),
            "review": self._review.copy(),
            **self.topics.state(),
            **({} if self.queue is None else self.queue.state()),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave; see `Learner.restore`."""
        tally = array_of(state, "tally", np.float64, COLUMNS)
        points = array_of(state, "points", np.float64, None, COLUMNS)
        check_points(tally, points, range(COLUMNS))
        tables = {name: floats(state, name, BINS, 3) for name in ("reliability", "review")}
        for name, table in (("tally", tally), ("points", points), *tables.items()):
            check_between(name, table, 0.0)
        self.topics.restore(state)
        if self.topics.rounds != tally[ROUND]:
            raise InvalidArrayError(
                f"array named_rounds is {self.topics.rounds}, expected {tally[ROUND]:.0f}"
            )
        if self.queue is not None:
            self.queue.restore(state, int(tally[DECIDED]))
        self._tally, self._points = tally.copy(), points.copy()
        self._reliability, self._review = tables["reliability"].copy(), tables["review"].copy()

    def check_references(self, topics: int) -> None:
        """Raise `InvalidArrayError` if there is something of a topic that the stream lacks."""
        self.topics.check_references(topics)
        if self.queue is not None:
            self.queue.check_references(topics)

    def size_bytes(self) -> int:
        """The memory of what is known of all topics, and of documents to review."""
        return self.topics.size_bytes() + (0 if self.queue is None else self.queue.size_bytes())

    def max_bytes(self, topics: int) -> int:
        """The most that `size_bytes` can be."""
        queue = 0 if self.queue is None else self.queue.max_bytes()
        return self.topics.max_bytes(topics) + queue
