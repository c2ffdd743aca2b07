"""Kernels of a stretch of MMP: which scores the shards have to exchange.

A *lesson* is a learning step that can move prototypes. An update at lesson i by tau changes the
scores of a later lesson j by `(x_i . x_j) tau`. So taking the lessons of a stretch needs no
prototypes, only scores by the prototypes at the beginning of the stretch. And only those of topics
that could be level with the lowest relevant topic of the lesson: all others stay where they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Bytes, Floats, Ints, Longs
from learners.jit import njit
from learners.segment import Rows
from learners.sharding.level_topics import class_of, fingerprints
from learners.sharding.rounding_bounds import UNIT, Words

Counts = npt.NDArray[np.uint32]
Codes = npt.NDArray[np.float32]

SMALLEST = 5e-324  # the smallest positive number
MANY_LINES = 16  # scores of documents with more labels are not coded
SHORTEST_DISTANCE, LONGEST_DISTANCE = 1e-30, 1e30  # that are coded


class Lessons(NamedTuple):
    """The lessons of a stretch. Lesson i has `labels[label_starts[i]:label_starts[i + 1]]`."""

    row: Longs
    known: Longs  # topics that exist
    round: Longs  # rounds that were learned before it
    label_starts: Longs
    labels: Ints  # the relevant topics
    places: Longs  # of each label among the distinct labels of the stretch
    distinct: int  # number of distinct labels


class Scoring(NamedTuple):
    """What all shards know about the scores of the lessons before they choose what to send."""

    of_labels: Floats  # the scores of the labels
    marks: Words  # and their fingerprints: see `learners.sharding.level_topics`
    least: Floats  # of each lesson: the lowest of these
    limits: Floats  # of each lesson: topics are sent unless the lowest leads by more than this
    margin: float


class Parcel(NamedTuple):
    """What a shard sends about its own topics, except the relevant ones. See `choose_offers`.

    Columns of exact scores come lesson by lesson, ascending. Columns of coded scores are the bits
    of a map, or numbers of `size` bytes if that is shorter.
    """

    exact: Counts  # of each lesson: topics with exact scores
    coded: Counts  # of each lesson: topics with coded scores
    bounds: Floats  # of each lesson: no topic that was not sent can score more; -inf if all were
    scores: Floats  # exact scores
    columns: Counts  # of these
    level: Bytes  # of these: the number of the label that they are level with, from 1, or 0
    codes: Codes
    places: Bytes  # columns of the coded scores


@njit
def inner_products(rows: Rows, chosen: Longs, last: Longs) -> Floats:
    """Return `x_i . x_j` at [j, i] for i < j of the chosen rows.

    The number is 0 only if the two rows have no term in common. `last` is -1 for every term, before
    and after.
    """
    count, entries = len(chosen), 0
    for row in chosen:
        entries += rows.starts[row + 1] - rows.starts[row]
    before, owner = np.empty(entries, np.int64), np.empty(entries, np.int64)
    value_of = np.empty(entries)
    products, shared = np.zeros((count, count)), np.zeros(count, np.bool_)
    filled = 0
    for j in range(count):
        start, stop = rows.starts[chosen[j]], rows.starts[chosen[j] + 1]
        line = products[j]
        shared[:j] = False
        for k in range(start, stop):
            term, value = rows.terms[k], rows.values[k]
            entry = last[term]
            while entry >= 0:
                line[owner[entry]] += value_of[entry] * value
                shared[owner[entry]] = True
                entry = before[entry]
            before[filled], owner[filled], value_of[filled] = last[term], j, value
            last[term] = filled
            filled += 1
        for i in range(j):
            if shared[i] and line[i] == 0.0:
                line[i] = SMALLEST
    for row in chosen:
        for k in range(rows.starts[row], rows.starts[row + 1]):
            last[rows.terms[k]] = -1
    return products


@njit
def expected_rises(lessons: Lessons, lesson: int, products: Floats, lift: float) -> Floats:
    """Return how much each distinct label may rise at this lesson if its tau was always `lift`."""
    rises = np.zeros(lessons.distinct)
    for i in range(lesson):
        step = max(products[lesson, i], 0.0) * lift
        if step > 0.0:
            for k in range(lessons.label_starts[i], lessons.label_starts[i + 1]):
                rises[lessons.places[k]] += step
    return rises


@njit
def coded_columns_size(count: int, width: int, size: int) -> int:
    """Return how many bytes the columns of this many coded scores take."""
    return min(count * size, (width + 7) // 8)


@njit
def decoded(code: np.float32, base: float) -> tuple[float, float]:
    """Return the score that a code stands for, and how far it may be from the actual score.

    The code is the distance from `base` as a 32-bit number. The doubt is four times what is lost by
    that, and covers all rounding.
    """
    distance = float(code)
    doubt = abs(distance) * 2.0**-22 + 16.0 * UNIT * (abs(base) + abs(distance))
    return base + distance, doubt


@njit
def can_be_coded(score: float, base: float, lines: Floats, margin: float) -> bool:
    """Return whether the code of a score leaves no doubt on which side of the lines it is.

    Nor does the rounding of the comparison, which is more if a line is about the margin: their
    difference, and the distance from it, are tiny then.
    """
    distance = abs(score - base)
    if len(lines) > MANY_LINES or not SHORTEST_DISTANCE < distance < LONGEST_DISTANCE:
        return False
    approximate, doubt = decoded(np.float32(score - base), base)
    doubtful = False
    for line in lines:
        rounding = UNIT * (abs(line) + margin + abs(approximate))
        doubtful |= abs(line - margin - approximate) <= 4.0 * (doubt + rounding)
    return not doubtful


@njit
def choose_offers(
    rows: Rows, lessons: Lessons, products: Floats, lift: float, scoring: Scoring,
    initial: Floats, weights: Words, shard: int, shards: int, size: int,
) -> Parcel:  # fmt: skip
    """Choose the own topics that other shards need to know, except the relevant ones.

    These are the topics that the lowest relevant one does not lead by more than the limit of the
    lesson, with the rise that is expected of them within the stretch. Their scores are coded, if
    that cannot change a decision. `weights` are the own prototypes, as words.
    """
    count, columns = len(lessons.row), initial.shape[1]
    of_labels, marks, least, limits, margin = scoring
    exact, coded = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
    bounds = np.full(count, -np.inf)
    scores, exact_columns = np.empty(1024), np.empty(1024, np.uint32)
    level, found_marks = np.zeros(1024, np.uint8), np.empty(columns, np.uint64)
    codes, places = np.empty(1024, np.float32), np.zeros(4096, np.uint8)
    upper, chosen = np.empty(columns), np.empty(columns, np.int64)
    column_of = np.full(lessons.distinct, -1, np.int64)  # of the own topics among the labels
    for k in range(len(lessons.labels)):
        if lessons.labels[k] % shards == shard:
            column_of[lessons.places[k]] = lessons.labels[k] // shards
    exact_filled = coded_filled = place = 0
    for j in range(count):
        width = (lessons.known[j] - shard + shards - 1) // shards
        given, base = initial[j], least[j] - margin
        first, last = lessons.label_starts[j], lessons.label_starts[j + 1]
        upper[:width] = given[:width]
        rises = expected_rises(lessons, j, products, lift)
        for label in range(lessons.distinct):
            if 0 <= column_of[label] < width:
                upper[column_of[label]] += rises[label]
        for k in range(first, last):
            if lessons.labels[k] % shards == shard:
                upper[lessons.labels[k] // shards] = -np.inf
        bound, low, limit, found = -np.inf, least[j], limits[j], 0
        for column in range(width):
            if low - upper[column] <= limit:
                chosen[found] = column
                found += 1
            else:
                bound = max(bound, upper[column])
        bounds[j] = bound
        if exact_filled + found > len(scores):
            scores = np.concatenate((scores, np.empty(len(scores) + found)))
            exact_columns = np.concatenate(
                (exact_columns, np.empty(len(exact_columns) + found, np.uint32))
            )
            level = np.concatenate((level, np.zeros(len(level) + found, np.uint8)))
        if coded_filled + found > len(codes):
            codes = np.concatenate((codes, np.empty(len(codes) + found, np.float32)))
        lines, start = of_labels[first:last], exact_filled
        kept = 0
        for k in range(found):
            column = chosen[k]
            if can_be_coded(given[column], base, lines, margin):
                codes[coded_filled] = np.float32(given[column] - base)
                coded_filled += 1
                chosen[kept] = column
                kept += 1
            else:
                scores[exact_filled], exact_columns[exact_filled] = given[column], column
                exact_filled += 1
        coded[j], exact[j] = kept, found - kept
        if margin == 0.0:  # otherwise level topics are far from a decision
            tied = exact_columns[start:exact_filled].astype(np.int64)
            fingerprints(rows, lessons.row[j], weights, tied, found_marks)
            for k in range(len(tied)):
                mark, line_marks = found_marks[k], marks[first:last]
                level[start + k] = class_of(scores[start + k], mark, lines, line_marks)
        room = coded_columns_size(kept, width, size)
        if place + room > len(places):
            places = np.concatenate((places, np.zeros(len(places) + room, np.uint8)))
        if room < kept * size:
            for column in chosen[:kept]:
                places[place + column // 8] |= np.uint8(1 << (column % 8))
        else:
            for k in range(kept):
                for byte in range(size):
                    places[place + k * size + byte] = (chosen[k] >> (8 * byte)) & 255
        place += room
    return Parcel(
        exact, coded, bounds, scores[:exact_filled], exact_columns[:exact_filled],
        level[:exact_filled], codes[:coded_filled], places[:place],
    )  # fmt: skip
