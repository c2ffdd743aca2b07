"""Scores of learners that retrieve a few of many topics: only those topics take memory.

All other topics have the score 0 and are ranked by their index. A ranking is the same, including
all ties, as if the whole table were there.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.jit import njit
from learners.scores import NO_BEST, UNRANKED, Best, Places, Scores, StoredScores, no_places
from learners.segment import Steps, labels_of


class Retrieved(NamedTuple):
    """Retrieved topics and their scores: row i has `topics[starts[i]:stops[i]]`, in any order."""

    starts: Longs
    stops: Longs
    topics: Ints
    scores: Floats


@njit
def retrieved_of(
    starts: Longs, stops: Longs, topics: Ints, scores: Floats, row: int
) -> tuple[Ints, Floats]:
    """The retrieved topics of a row and their scores, as views."""
    start, stop = starts[row], stops[row]
    return topics[start:stop], scores[start:stop]


@njit
def best_of_retrieved(
    retrieved: Retrieved, topics: int, known: Ints, order: Ints, values: Floats
) -> None:
    """As `best_of_all`: the retrieved topics first, then the others by index."""
    top = order.shape[1]
    starts, stops, found, scores = retrieved
    is_retrieved = np.zeros(topics, np.bool_)
    for row in range(len(known)):
        some, given = retrieved_of(starts, stops, found, scores, row)
        best, worth = order[row], values[row]
        filled = 0
        for i in range(len(some)):
            topic, score = some[i], given[i]
            place = min(filled, top - 1)
            if filled == top and (top == 0 or not before(score, topic, worth[place], best[place])):
                continue
            while place > 0 and before(score, topic, worth[place - 1], best[place - 1]):
                best[place], worth[place] = best[place - 1], worth[place - 1]
                place -= 1
            best[place], worth[place] = topic, score
            filled = min(filled + 1, top)
        if filled == min(top, known[row]):
            continue
        for topic in some:
            is_retrieved[topic] = True
        for topic in range(known[row]):
            if filled == top:
                break
            if not is_retrieved[topic]:
                best[filled], worth[filled] = topic, 0.0
                filled += 1
        for topic in some:
            is_retrieved[topic] = False


@njit
def before(score: float, topic: int, other_score: float, other: int) -> bool:
    """Whether a topic ranks before another one: by score, then by index."""
    return score > other_score or (score == other_score and topic < other)


@njit
def place_in_retrieved(steps: Steps, retrieved: Retrieved, places: Places) -> None:
    """As `place_in_all`, where all topics that are not retrieved have the score 0."""
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels, step_ranked = steps.label_starts, steps.labels, steps.ranked
    ranks, above, hits = places
    starts, stops, found, scores = retrieved
    first = label_starts[0]
    for step in range(len(step_row)):
        start, stop = label_starts[step] - first, label_starts[step + 1] - first
        if not step_learn[step] or start == stop:
            continue
        relevant = labels_of(label_starts, labels, step)
        some, given = retrieved_of(starts, stops, found, scores, step_row[step])
        own = np.zeros(len(relevant))
        for i in range(len(relevant)):
            for j in range(len(some)):
                if some[j] == relevant[i]:
                    own[i] = given[j]
        best = 0.0
        for i in range(len(relevant)):
            r, score = relevant[i], own[i]
            best = max(best, score)
            rank, level, earlier = 1, 0, 0
            for j in range(len(some)):
                rank += before(given[j], some[j], score, r)
                level += given[j] >= score
                earlier += some[j] < r
            if score == 0.0:
                rank += r - earlier  # topics of a lower index that were not retrieved either
                above[start + i] = step_known[step] - len(relevant)
            else:
                for other in own:
                    level -= other >= score
                above[start + i] = level
            ranks[start + i] = rank if r < step_ranked[step] else UNRANKED
        ranks[start:stop].sort()
        if best > 0.0:
            hits[step] = ranks[start]


class SparseScores(Scores):
    """For every row the topics that were retrieved, with scores above 0, in any order."""

    is_sparse = True

    def __init__(self, rows: int, topics: int) -> None:
        self.topics = topics
        self.starts: Longs = np.zeros(rows, np.int64)
        self.stops: Longs = np.zeros(rows, np.int64)
        self.retrieved: Ints = np.empty(0, np.int32)
        self.scores: Floats = np.empty(0)
        self.used = 0

    @classmethod
    def new(cls, rows: int, topics: int) -> Self:
        """Rows for which nothing is retrieved yet."""
        return cls(rows, topics)

    @property
    def shape(self) -> tuple[int, int]:
        """The rows, and the topics that may be retrieved."""
        return len(self.starts), self.topics

    @property
    def arrays(self) -> Retrieved:
        """The retrieved topics as kernels take them."""
        return Retrieved(self.starts, self.stops, self.retrieved, self.scores)

    def row(self, row: int, known: int) -> Floats:
        """The scores of the first `known` topics of a row."""
        kept, every = self.keep(row, known), np.zeros(known)
        every[kept.topics] = kept.values
        return every

    def keep(self, row: int, known: int) -> StoredScores:
        """The retrieved topics of a row (copies); all of them were known."""
        some = slice(self.starts[row], self.stops[row])
        return StoredScores(self.scores[some].copy(), self.retrieved[some].copy())

    def put(self, row: int, kept: StoredScores) -> None:
        """Append kept scores to those of other rows."""
        topics = kept.topics
        if topics is None:  # snapshots of older versions have the scores of all topics
            topics = np.flatnonzero(kept.values).astype(np.int32)
            kept = StoredScores(kept.values[topics], topics)
        start, stop = self.used, self.used + len(topics)
        if stop > len(self.retrieved):
            more = stop  # double the room, so that appending many rows costs little per row
            self.retrieved = np.concatenate((self.retrieved, np.empty(more, np.int32)))
            self.scores = np.concatenate((self.scores, np.empty(more)))
        self.retrieved[start:stop], self.scores[start:stop] = topics, kept.values
        self.starts[row], self.stops[row], self.used = start, stop, stop

    def best(self, known: Ints, top: int, first: int = 0) -> tuple[Ints, Floats]:
        """The best topics of each row."""
        order, values = np.full((len(known), top), -1, np.int32), np.zeros((len(known), top))
        some = Retrieved(self.starts[first:], self.stops[first:], self.retrieved, self.scores)
        best_of_retrieved(some, self.topics, known, order, values)
        return order, values

    def places(self, steps: Steps, best: Best = NO_BEST) -> Places:
        """The ranks of the labels, counted over the retrieved topics."""
        places = no_places(steps)
        place_in_retrieved(steps, self.arrays, places)
        return places

    def table(self) -> Floats:
        """The scores of all topics, in a new table."""
        table = np.zeros((len(self.starts), self.topics))
        for row in range(len(table)):
            table[row] = self.row(row, self.topics)
        return table
