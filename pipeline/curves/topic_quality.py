"""The quality of each topic: how often it was assigned and was right, and where it went wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.checks import (
    MAX_COUNT,
    InvalidArrayError,
    check_between,
    check_extent,
    count_of,
    floats,
)
from learners.decisions.bounded_numbers import exponential
from learners.decisions.decided import Decisions
from learners.decisions.rules import f1_of
from learners.growing_array import GrowingArray
from learners.jit import njit, njit_inline
from learners.learner import State
from pipeline.curves.has_id import HasId
from pipeline.curves.worst_documents import (
    LEAST_WRONG,
    WorstDocument,
    WorstDocuments,
    keep_worst,
)

# Per topic: rounds in which it was assigned, rightly assigned, relevant; the first and the last
# round in which it was relevant (0: none); how often it was relevant lately; of its last rounds,
# rightly assigned and assigned plus relevant; and the last round in which it was either.
ASSIGNED, RIGHT, RELEVANT, FIRST, LAST, LATELY, RECENT_RIGHT, RECENT_SIZES, USED = range(9)
COLUMNS = 9
BINS = 20  # of probabilities; the average precision of a topic is computed from these
CANDIDATE, HIT = range(2)
MEMORY = 512.0  # rounds over which the recent frequency of a topic is averaged
FADING = -math.log1p(-1.0 / MEMORY)  # what is left a round later is e to the power of minus this
KEEP = 0.95  # weight of earlier rounds of a topic in its recent F1
# A topic is no longer used if it was neither relevant nor assigned in the last eighth of the
# rounds, and not in this many rounds.
ALWAYS_IN_USE = 512


class TopicTables(NamedTuple):
    """What is known of each topic, as kernels take it."""

    quality: Floats
    histogram: Floats  # topics x (bins x 2): by probability, rounds as a candidate, relevant ones
    errors: Floats  # topics x worst documents, as `worst_documents.keep_worst` writes them


@njit
def macro_f1_of(tables: TopicTables, topics: int) -> float:
    """The mean F1 of all topics that were assigned or relevant at least once."""
    quality = tables.quality
    total = count = 0.0
    for topic in range(topics):
        assigned, relevant = quality[topic, ASSIGNED], quality[topic, RELEVANT]
        if assigned + relevant > 0.0:
            total += f1_of(quality[topic, RIGHT], assigned, relevant)
            count += 1.0
    return total / count if count > 0.0 else 0.0


def in_use_after(rounds: int) -> int:
    """Return the round after which a topic must have been relevant or assigned to be in use."""
    return rounds - max(rounds // 8, ALWAYS_IN_USE)


@njit_inline
def lately(sum_: float, last: float, round_: int) -> float:
    """How often a topic was relevant, each round weighing less the longer ago it is.

    `sum_` is what it was in its last round, `last`.
    """
    return sum_ * exponential(FADING * (last - round_))


@njit_inline
def add_topics(
    tables: TopicTables, made: Decisions, row: int, count: int, bins: Longs, hits: Floats,
    found: float, labels: Ints, start: int, stop: int, round_: int,
) -> None:  # fmt: skip
    """Add a round to the first `count` candidates of a row, and to `labels[start:stop]`.

    `bins` are those of the probabilities, `hits` say which candidates are relevant, and `found` is
    how many are.
    """
    quality, histogram, errors = tables
    candidates, likely, assigned = made.topics, made.probabilities, made.assigned
    for place in range(count):
        topic, hit, at = candidates[row, place], hits[place], 2 * bins[place]
        histogram[topic, at + CANDIDATE] += 1.0
        histogram[topic, at + HIT] += hit
        if assigned[row, place]:
            quality[topic, ASSIGNED] += 1.0
            quality[topic, RIGHT] += hit
            add_recent(quality, topic, hit, 1.0 + hit)
            quality[topic, USED] = round_
        elif hit > 0.0:
            add_recent(quality, topic, 0.0, 1.0)
        wrong = abs(likely[row, place] - hit)
        if wrong > LEAST_WRONG:
            keep_worst(errors, topic, wrong, round_, hit)
    for i in range(start, stop):
        topic = labels[i]
        recent = lately(quality[topic, LATELY], quality[topic, LAST], round_)
        quality[topic, LATELY] = recent + 1.0
        quality[topic, RELEVANT] += 1.0
        if quality[topic, FIRST] == 0.0:
            quality[topic, FIRST] = round_
        quality[topic, LAST] = quality[topic, USED] = round_
        if found == stop - start:  # all labels are among the candidates
            continue
        was_candidate = False
        for place in range(count):
            was_candidate |= candidates[row, place] == topic
        if not was_candidate:
            add_recent(quality, topic, 0.0, 1.0)
            keep_worst(errors, topic, 1.0, round_, 1.0)


@njit_inline
def add_recent(quality: Floats, topic: int, right: float, size: float) -> None:
    """Add a round in which a topic was assigned or relevant to its recent F1."""
    quality[topic, RECENT_RIGHT] = KEEP * quality[topic, RECENT_RIGHT] + right
    quality[topic, RECENT_SIZES] = KEEP * quality[topic, RECENT_SIZES] + size


class QualityOfTopic(NamedTuple):
    """How well a lane knows a topic."""

    topic: int
    documents: int  # labelled documents that have it
    assigned: int
    precision: float | None  # None: it was never assigned
    recall: float | None  # None: no document had it
    f1: float
    average_precision: float | None
    first: int  # the first and the last round of a document that has it; 0: none
    last: int
    frequency: float  # share of the documents that have it
    recent_frequency: float  # the same, of about the last 512 rounds
    recent_f1: float
    in_use: bool  # whether it was relevant or assigned in about the last eighth of the rounds
    worst: Sequence[WorstDocument]


class TopicQuality:
    """The quality of all topics."""

    def __init__(self) -> None:
        self._rounds = 0
        self._quality = GrowingArray(2)
        self._histogram = GrowingArray(2)
        self._worst = WorstDocuments()
        self.room_for(0)

    def room_for(self, topics: int) -> TopicTables:
        """The tables, with room for this many topics."""
        self._quality.grow(topics, COLUMNS)
        self._histogram.grow(topics, 2 * BINS)
        return TopicTables(self._quality.room, self._histogram.room, self._worst.room_for(topics))

    def add_rounds(self, labelled: Sequence[HasId]) -> None:
        """Learn the ids of the documents of the newest rounds, which were added before."""
        self._worst.name(self._rounds, labelled)
        self._rounds += len(labelled)

    def macro_f1(self) -> float:
        """The mean F1 of all topics that were assigned or relevant at least once."""
        topics = self._quality.shape[0]
        return macro_f1_of(self.room_for(topics), topics)

    def counts(self) -> tuple[Floats, Floats]:
        """Per topic: rounds in which it was assigned, and was rightly assigned (copies)."""
        quality = self._quality.view
        return quality[:, ASSIGNED].copy(), quality[:, RIGHT].copy()

    def all(self, rounds: int) -> Iterator[QualityOfTopic]:
        """Yield the quality of every topic that was assigned or relevant."""
        quality = self._quality.view
        used = np.flatnonzero(quality[:, ASSIGNED] + quality[:, RELEVANT])
        yield from (self.of(topic, rounds) for topic in used.tolist())

    def worst(self, rounds: int, most: int, least: int) -> list[QualityOfTopic]:
        """Return the topics of the lowest F1 that at least `least` documents have, worst first.

        Topics that are no longer used are left out. Among equals, the topics of most documents
        come first. The work per topic is small: only the topics that are returned are looked at
        closely.
        """
        return self._first(1.0, rounds, most, least)

    def best(self, rounds: int, most: int, least: int) -> list[QualityOfTopic]:
        """Return the topics of the highest F1 that at least `least` documents have, best first.

        Topics that are no longer used are left out.
        """
        return self._first(-1.0, rounds, most, least)

    def unused(self, rounds: int, least: int) -> int:
        """Return how many topics that at least `least` documents have are no longer used."""
        quality = self._quality.view[self._frequent(least)]
        return int(np.count_nonzero(quality[:, USED] <= in_use_after(rounds)))

    def _frequent(self, least: int) -> Longs:
        """Return the topics that enough documents have."""
        return np.flatnonzero(self._quality.view[:, RELEVANT] >= max(least, 1))

    def _first(self, sign: float, rounds: int, most: int, least: int) -> list[QualityOfTopic]:
        """Return the first topics in use that enough documents have, by their F1 times a sign."""
        quality = self._quality.view
        frequent = self._frequent(least)
        frequent = frequent[quality[frequent, USED] > in_use_after(rounds)]
        assigned, right, relevant = quality[frequent, : RELEVANT + 1].T
        order = np.lexsort((-relevant, sign * right / (assigned + relevant)))[:most]
        return [self.of(topic, rounds) for topic in frequent[order].tolist()]

    def of(self, topic: int, rounds: int) -> QualityOfTopic:
        """The quality of a topic that was assigned or relevant."""
        row = self._quality.view[topic].tolist()
        assigned, right, relevant = row[:3]
        recent = lately(row[LATELY], row[LAST], rounds) / MEMORY
        seen = 1.0 - (1.0 - 1.0 / MEMORY) ** rounds
        return QualityOfTopic(
            topic,
            int(relevant),
            int(assigned),
            right / assigned if assigned else None,
            right / relevant if relevant else None,
            f1_of(right, assigned, relevant),
            average_precision(self._histogram.view[topic], relevant),
            int(row[FIRST]),
            int(row[LAST]),
            relevant / rounds,
            recent / seen,
            f1_of(row[RECENT_RIGHT], row[RECENT_SIZES], 0.0) if row[RECENT_SIZES] else 0.0,
            row[USED] > in_use_after(rounds),
            self._worst.of(topic),
        )

    def state(self) -> State:
        """Return everything as named arrays (copies)."""
        return {
            "quality": self._quality.copy(),
            "histogram": self._histogram.copy(),
            "named_rounds": np.array(self._rounds, np.int64),
            **self._worst.state(),
        }

    @property
    def rounds(self) -> int:
        """Rounds whose documents are known by their ids."""
        return self._rounds

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave; see `Learner.restore`."""
        quality = floats(state, "quality", None, COLUMNS)
        histogram = floats(state, "histogram", len(quality), 2 * BINS)
        check_between("quality", quality, 0.0, MAX_COUNT)
        check_between("histogram", histogram, 0.0, MAX_COUNT)
        first, last, used = quality[:, [FIRST, LAST, USED]].T
        if (quality[:, [FIRST, LAST, USED]] % 1.0).any():
            raise InvalidArrayError("array quality has a part of a round")
        rounds = count_of(state, "named_rounds")
        if (first > last).any() or (last > used).any() or (used > rounds).any():
            raise InvalidArrayError("array quality has rounds that have not been")
        self._worst.restore(state, len(quality), rounds)
        self._rounds = rounds
        self._quality.load(quality)
        self._histogram.load(histogram)

    def check_references(self, topics: int) -> None:
        """Raise `InvalidArrayError` if there is something of a topic that the stream lacks."""
        check_extent("quality", self._quality.shape[0], topics, "topics")

    def size_bytes(self) -> int:
        """The memory of what is known of all topics."""
        return self.max_bytes(self._quality.shape[0])

    @staticmethod
    def max_bytes(topics: int) -> int:
        """The most memory that this many topics take."""
        return topics * (8 * (COLUMNS + 2 * BINS) + WorstDocuments.bytes_per_topic)


def average_precision(histogram: Floats, relevant: float) -> float | None:
    """The average precision of a topic over all documents, by its probabilities in bins."""
    if not relevant:
        return None
    by_bin = histogram.reshape(BINS, 2)[::-1]
    candidates, hits = np.cumsum(by_bin[:, CANDIDATE]), np.cumsum(by_bin[:, HIT])
    precision = hits / np.maximum(candidates, 1.0)
    return float((precision * by_bin[:, HIT]).sum() / relevant)
