"""The scores that a lane gave the rows of a segment, and the ranks of topics by these scores.

Most learners score every topic, so their scores are a table. For a learner that retrieves a few of
many topics, see `learners.sparse_scores`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar, NamedTuple, Self

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.best_topics import best_of_all
from learners.jit import njit, njit_inline
from learners.segment import Segment, Steps


class LabelKind(Enum):
    """What the label of a document is: a set of topics, or one rank."""

    TOPICS = "topics"
    RANKS = "ranks"


class ScoresMismatchError(TypeError):
    """Scores of another kind or size than a learner or a curve needs."""


RANK, SCORE = 0, 1  # the columns of `RankScores`
MOST_TOPICS = 2**31 - 1  # topics are numbered by 32-bit integers
FEW = 16  # numbers: sorting them by insertion is faster than any other way
UNRANKED = np.iinfo(np.int64).max  # the rank of a topic that a ranking lacks: behind all others


class StoredScores(NamedTuple):
    """The scores of one row, copied: of these topics, or of all topics that were known then."""

    values: Floats
    topics: Ints | None = None
    decision: bytes = b""  # packed, of a lane that assigns topics: see `learners.decisions.decided`


class Places(NamedTuple):
    """The ranks of the labels of learned rows when the rows were ranked, label by label."""

    ranks: Longs  # 1 is best, ties by index; ascending in each row; UNRANKED: not in the ranking
    above: Longs  # of each label, as listed: how many irrelevant topics scored as high or higher
    hits: Longs  # of each step: the rank of its best label; 0 if none was ranked, or not learned


class Best(NamedTuple):
    """The best topics of rows and their scores, best first, ties by index."""

    first: int  # the first of these rows
    known: Ints  # per row: how many topics existed when it was ranked
    order: Ints  # rows x topics; -1: there are no more
    values: Floats  # the same; where there is no topic, they have no meaning


NO_BEST = Best(0, np.empty(0, np.int32), np.empty((0, 0), np.int32), np.empty((0, 0)))


class RowScores(ABC):
    """The scores of the rows of a segment, of a lane that ranks topics or predicts a rank."""

    label_kind: ClassVar[LabelKind]
    is_sparse: ClassVar[bool] = False  # whether only retrieved topics take memory

    @classmethod
    @abstractmethod
    def new(cls, rows: int, topics: int) -> Self:
        """Room for the scores of this many rows, of this many topics each."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """How many rows and how many topics it has room for."""

    @classmethod
    def expect(cls, scores: RowScores, segment: Segment | None = None) -> Self:
        """Return `scores` typed as this class, with room for the rankings of `segment`.

        Raises ScoresMismatchError if they are of another class or too small. A kernel would write
        past their end, and a learner that skipped them would leave rows of zeros.
        """
        if not isinstance(scores, cls):
            raise ScoresMismatchError(
                f"Expected {cls.__name__}, got {type(scores).__name__}. "
                "Make the scores with the new_scores() of the learner that writes them."
            )
        if segment is not None:
            needed, room = (len(segment.rows), segment.topics), scores.shape
            if any(n > have for n, have in zip(needed, room, strict=True)):
                scores.check_room(segment.steps)
        return scores

    def check_room(self, steps: Steps) -> None:
        """Raise ScoresMismatchError if a ranking among the steps has no room."""
        ranked = ~steps.learn
        rows = int(steps.row[ranked].max(initial=-1)) + 1
        topics = int(steps.known[ranked].max(initial=0))
        room = self.shape
        if rows > room[0] or topics > room[1]:
            raise ScoresMismatchError(
                f"The rankings of the segment need room for {rows} rows and {topics} topics. "
                f"These {type(self).__name__} have room for {room[0]} rows and {room[1]} topics."
            )

    @abstractmethod
    def row(self, row: int, known: int) -> Floats:
        """The scores of a row (a copy), when `known` labels existed."""

    @abstractmethod
    def keep(self, row: int, known: int) -> StoredScores:
        """The scores of a row, to be put back later."""

    @abstractmethod
    def put(self, row: int, kept: StoredScores) -> None:
        """Write kept scores to a row; topics that became known since then have the score 0."""


class RankScores(RowScores):
    """For every row the predicted rank, and the score that the rank was derived from."""

    label_kind = LabelKind.RANKS

    def __init__(self, rows: int) -> None:
        self.matrix: Floats = np.zeros((rows, 2))

    @classmethod
    def new(cls, rows: int, topics: int) -> Self:
        """Room for this many rows; one rank per row, however many ranks there are."""
        return cls(rows)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows; the number of ranks is not limited."""
        return len(self.matrix), MOST_TOPICS

    def row(self, row: int, known: int) -> Floats:
        """The rank and the score."""
        rank_and_score: Floats = self.matrix[row].copy()
        return rank_and_score

    def keep(self, row: int, known: int) -> StoredScores:
        """The rank and the score, to be put back later."""
        return StoredScores(self.row(row, known))

    def put(self, row: int, kept: StoredScores) -> None:
        """Write a kept rank and score to the row."""
        self.matrix[row] = kept.values


class Scores(RowScores):
    """The scores of topics; a topic that was given none has the score 0."""

    label_kind = LabelKind.TOPICS
    topics: int

    @abstractmethod
    def table(self) -> Floats:
        """The scores of all topics: rows x topics."""

    @abstractmethod
    def best(self, known: Ints, top: int, first: int = 0) -> tuple[Ints, Floats]:
        """The `top` best topics and their scores, for `len(known)` rows from row `first` on.

        Best first, ties by index. Where a row has fewer topics the topic is -1, and the score has
        no meaning.
        """

    @abstractmethod
    def places(self, steps: Steps, best: Best = NO_BEST) -> Places:
        """The ranks of the labels of the learned rows among `steps`.

        If the best topics of some rows are known, it takes less time.
        """


@njit
def sort_few(numbers: Longs) -> None:
    """Sort numbers in place; faster than `sort` if they are few, like the labels of a row."""
    if len(numbers) > FEW:
        numbers.sort()
        return
    for i in range(1, len(numbers)):
        number, place = numbers[i], i
        while place > 0 and numbers[place - 1] > number:
            numbers[place] = numbers[place - 1]
            place -= 1
        numbers[place] = number


@njit_inline
def place_in_best(best: Best, row: int, ranked: int, topic: int) -> int:
    """The place of a topic among the best ones of a row, from 0 on; -1 if it is not known.

    All topics with an equal score are among the best ones, too. `ranked` topics count: those that
    this document brought are more than the best ones were chosen from.
    """
    at, top = row - best.first, best.order.shape[1]
    if at < 0 or at >= len(best.order) or best.known[at] != ranked:
        return -1
    place = -1
    for i in range(top):
        place = i if best.order[at, i] == topic else place
    if place >= 0 and ranked > top and best.values[at, place] == best.values[at, top - 1]:
        return -1
    return place


@njit
def place_in_all(steps: Steps, scores: Floats, best: Best, places: Places) -> None:
    """Count, for every label of a learned row, the topics that rank before it.

    Ranks count only the topics of the ranking. `above` also counts the topics that became known
    since then, with the score 0.
    """
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels, step_ranked = steps.label_starts, steps.labels, steps.ranked
    ranks, above, hits = places
    first = label_starts[0]
    for step in range(len(step_row)):
        start, stop = label_starts[step], label_starts[step + 1]
        if not step_learn[step] or start == stop:
            continue
        row, ranked = step_row[step], step_ranked[step]
        for i in range(start, stop):
            topic = labels[i]
            score = scores[row, topic]
            before = place_in_best(best, row, ranked, topic)
            level = 0
            if before >= 0:
                for place in range(min(best.order.shape[1], ranked)):
                    level += best.values[row - best.first, place] >= score
            else:
                before = 0
                for other in range(ranked):
                    before += scores[row, other] > score
                    level += scores[row, other] >= score
                for other in range(topic):
                    before += scores[row, other] == score
            for other in range(ranked, step_known[step]):
                level += scores[row, other] >= score
            for k in range(start, stop):
                level -= scores[row, labels[k]] >= score
            ranks[i - first] = 1 + before if topic < ranked else UNRANKED
            above[i - first] = level
        sort_few(ranks[start - first : stop - first])
        if ranks[start - first] != UNRANKED:
            hits[step] = ranks[start - first]


class DenseScores(Scores):
    """A table of rows x topics, which a learner writes to."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix
        self.topics = matrix.shape[1]

    @classmethod
    def new(cls, rows: int, topics: int) -> Self:
        """A table of zeros."""
        return cls(np.zeros((rows, topics)))

    @property
    def shape(self) -> tuple[int, int]:
        """The rows and topics of the table."""
        return len(self.matrix), self.topics

    def table(self) -> Floats:
        """The table itself, not a copy."""
        return self.matrix

    def row(self, row: int, known: int) -> Floats:
        """The scores of the first `known` topics of a row (a copy)."""
        return self.matrix[row, :known].copy()

    def keep(self, row: int, known: int) -> StoredScores:
        """The scores of the first `known` topics of a row, to be put back later."""
        return StoredScores(self.row(row, known))

    def put(self, row: int, kept: StoredScores) -> None:
        """Write kept scores to the table."""
        self.matrix[row, : len(kept.values)] = kept.values

    def best(self, known: Ints, top: int, first: int = 0) -> tuple[Ints, Floats]:
        """The best topics of each row."""
        order, values = np.full((len(known), top), -1, np.int32), np.zeros((len(known), top))
        best_of_all(self.matrix[first:], known, order, values)
        return order, values

    def places(self, steps: Steps, best: Best = NO_BEST) -> Places:
        """The ranks of the labels, counted over all topics."""
        places = no_places(steps)
        place_in_all(steps, self.matrix, best, places)
        return places


def no_places(steps: Steps) -> Places:
    """Room for the ranks of all labels of these steps."""
    ranks, above = np.empty((2, steps.label_starts[-1] - steps.label_starts[0]), np.int64)
    return Places(ranks, above, np.zeros(len(steps), np.int64))
