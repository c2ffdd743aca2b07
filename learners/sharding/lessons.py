"""Take the lessons of a stretch from the scores that the shards exchanged.

The scores of later lessons follow from those at the beginning of the stretch by inner products of
documents. They differ from the scores of an undivided learner by rounding, which must not change a
decision. And topics that were not sent must stay behind. A lesson for which either is not certain
ends the stretch: it becomes the first of the next stretch, whose scores are exact. See
`certain_leads`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bytes, Floats, Ints, Longs
from learners.jit import njit
from learners.sharding.certain_leads import (
    COMPLETE,
    EFFORT,
    NO_MOVES,
    ROUNDING,
    DenseUpdates,
    Scored,
    Updates,
    leads_are_certain,
    moves_by,
    next_history,
    others_stay_behind,
)
from learners.sharding.level_topics import class_of
from learners.sharding.rounding_bounds import UNIT, Words
from learners.sharding.sparse_stretch import SMALLEST, Lessons, Scoring

# Effort (in numbers read) that takes longer than an exchange: from here on, exchange again.
ENOUGH = 16_000_000
DENSE = 8  # a loop over whole vectors is this many times as fast as one over scattered numbers


class Offers(NamedTuple):
    """What shards sent of lesson i: the topics `starts[i]:starts[i + 1]`."""

    starts: Longs
    topics: Ints
    scores: Floats  # by the prototypes at the beginning of the stretch
    doubts: Floats  # how far these may be from the actual scores; 0 if exact
    level: Bytes  # the number of the relevant topic that they are level with, from 1, or 0
    bounds: Floats  # of each lesson: no topic that was not sent can score more; -inf if all were


class TopicRecords(NamedTuple):
    """What every shard knows about all topics. Kernels update it in place."""

    mass: Floats  # upper bound of the length of the prototype
    history: Words  # equal for topics with the same updates so far


class Resolved(NamedTuple):
    """What `resolve` did."""

    lessons: int  # taken
    end: int  # why no more were taken
    effort: int
    needed: float  # the fall or rise of scores that ended it
    updates: Updates


@njit
def add_to_many(
    lesson: int, products: Floats, updates: Updates, dense: DenseUpdates, scored: Scored
) -> int:
    """Add the updates of the stretch so far to the scores of many topics; return the effort."""
    topics, effort = dense.tau.shape[1], 0
    change, touched = np.zeros(topics), np.zeros(topics, np.bool_)
    for i in range(lesson):
        product = products[lesson, i]
        if product == 0.0:
            continue
        if dense.place[i] >= 0:
            tau = dense.tau[dense.place[i]]
            for r in range(topics):
                change[r] += product * tau[r]
                touched[r] |= tau[r] != 0.0
            effort += topics // DENSE
            continue
        for k in range(updates.starts[i], updates.starts[i + 1]):
            change[updates.topics[k]] += product * updates.tau[k]
            touched[updates.topics[k]] = True
        effort += updates.starts[i + 1] - updates.starts[i]
    for place in range(len(scored.topics)):
        scored.scores[place] += change[scored.topics[place]]
        scored.touched[place] = touched[scored.topics[place]]
    return effort


@njit
def add_to_few(
    lesson: int, products: Floats, updates: Updates, dense: DenseUpdates, last: Longs,
    scored: Scored,
) -> int:  # fmt: skip
    """Add the updates of the stretch so far to the scores of few topics; return the effort."""
    topics, scores, touched, _, _, _ = scored
    effort = 0
    line = products[lesson]
    for place in range(len(topics)):
        change, changed = 0.0, False
        entry = last[topics[place]]
        while entry >= 0:
            product = line[updates.lesson[entry]]
            if product != 0.0:
                change += product * updates.tau[entry]
                changed = True
            entry = updates.before[entry]
            effort += 1
        scores[place] += change
        touched[place] = changed
    for i in range(lesson):
        if dense.place[i] < 0 or line[i] == 0.0:
            continue
        tau = dense.tau[dense.place[i]]
        for place in range(len(topics)):
            move = tau[topics[place]]
            scores[place] += line[i] * move
            touched[place] |= move != 0.0
        effort += len(topics)
    return effort


@njit
def lead_coefficients(
    scored: Scored, relevant: int, known: int, loss: int, margin: float, tau: Floats
) -> bool:
    """Write tau of the scored topics as `mmp_coefficients` does; return whether any topic moves.

    No other topic moves: each is led by every relevant topic by more than the margin.
    """
    scores = scored.scores
    tau[:] = 0.0
    pairs = 0
    for i in range(relevant):
        lead, count = scores[i], 0
        for k in range(relevant, len(scores)):
            wrong = lead - scores[k] <= margin
            count += wrong
            tau[k] -= 1.0 if wrong else 0.0
        tau[i] = count
        pairs += count
    if pairs == 0:
        return False
    if loss != 2:
        tau /= float(pairs if loss == 1 else relevant * (known - relevant))
    return True


@njit
def with_room(updates: Updates, entries: int) -> Updates:
    """Return the updates with room for at least this many topics in all."""
    starts, topics, tau, before, lesson = updates
    while entries > len(topics):
        topics = np.concatenate((topics, np.empty_like(topics)))
        tau = np.concatenate((tau, np.empty_like(tau)))
        before = np.concatenate((before, np.empty_like(before)))
        lesson = np.concatenate((lesson, np.empty_like(lesson)))
    return Updates(starts, topics, tau, before, lesson)


@njit
def score_topics(
    lessons: Lessons, lesson: int, scoring: Scoring, offers: Offers, products: Floats,
    updates: Updates, dense: DenseUpdates, last: Longs,
) -> tuple[Scored, int]:  # fmt: skip
    """Return the scores of the relevant topics and of those that were sent, and the effort."""
    first, relevant = lessons.label_starts[lesson], lessons.label_starts[lesson + 1]
    start, stop = offers.starts[lesson], offers.starts[lesson + 1]
    topics = np.concatenate((lessons.labels[first:relevant], offers.topics[start:stop]))
    of_labels, marks = scoring.of_labels[first:relevant], scoring.marks[first:relevant]
    scores = np.concatenate((of_labels, offers.scores[start:stop]))
    count = len(topics)
    slack = np.concatenate((np.zeros(relevant - first), offers.doubts[start:stop]))
    level = np.concatenate((np.zeros(relevant - first, np.uint8), offers.level[start:stop]))
    for place in range(len(of_labels)):
        level[place] = class_of(of_labels[place], marks[place], of_labels, marks)
    scored = Scored(topics, scores, np.zeros(count, np.bool_), slack, slack > 0.0, level)
    if DENSE * count > dense.tau.shape[1]:
        return scored, count + add_to_many(lesson, products, updates, dense, scored)
    return scored, count + add_to_few(lesson, products, updates, dense, last, scored)


@njit
def resolve(
    lessons: Lessons, lengths: Floats, longest: int, products: Floats, lift: float,
    scoring: Scoring, offers: Offers, loss: int, records: TopicRecords, place_of: Longs,
    last: Longs,
) -> Resolved:  # fmt: skip
    """Take the lessons in order until one is not certain, or the effort is `ENOUGH`.

    `scoring` has the scores of the labels, and `offers` is what the shards sent, all by the
    prototypes at the beginning. `lengths` are the Euclidean lengths of the rows of the lessons,
    `longest` is their largest number of terms. `place_of` is the place of each topic among the
    distinct labels, or -1. `last` is -1 for each topic, before and after.
    """
    mass, history = records
    margin = scoring.margin
    topics, count = len(last), len(lessons.row)
    updates = Updates(
        np.zeros(count + 1, np.int64), np.empty(1024, np.int32), np.empty(1024),
        np.empty(1024, np.int64), np.empty(1024, np.int32),
    )  # fmt: skip
    dense, dense_rows = DenseUpdates(np.full(count, -1, np.int64), np.empty((4, topics))), 0
    falls, positive = np.zeros(count), np.zeros(len(lessons.labels))
    sent = np.zeros(lessons.distinct, np.bool_)
    heaviest = mass.max()
    bits = np.empty(1).view(np.uint64)
    number = bits.view(np.float64)
    lesson, effort, end, needed = 0, 0, COMPLETE, 0.0
    while lesson < count:
        if effort >= ENOUGH:
            end = EFFORT
            break
        known, first = lessons.known[lesson], lessons.label_starts[lesson]
        relevant = lessons.label_starts[lesson + 1] - first
        scored, read = score_topics(
            lessons, lesson, scoring, offers, products, updates, dense, last
        )
        effort += read + lesson
        unit = UNIT * (longest + lesson + 16) * lengths[lesson]
        for k in range(len(scored.topics)):
            if scored.touched[k]:
                # Never 0, so that it is known not to be exact.
                scored.slack[k] += unit * mass[scored.topics[k]] + SMALLEST
        if not leads_are_certain(scored, relevant, margin, history, NO_MOVES):
            moves = moves_by(lesson, products, updates, dense, last, scored)
            effort += read + lesson
            if not leads_are_certain(scored, relevant, margin, history, moves):
                end = ROUNDING
                break
        sent[:] = False
        for topic in scored.topics:
            if place_of[topic] >= 0:
                sent[place_of[topic]] = True
        end, needed = others_stay_behind(
            lessons, lesson, products, lift, offers.bounds[lesson], falls, updates, positive,
            scored, relevant, margin, unit * heaviest, sent,
        )  # fmt: skip
        if end != COMPLETE:
            break
        tau = np.empty(len(scored.topics))
        filled = start = updates.starts[lesson]
        if lead_coefficients(scored, relevant, known, loss, margin, tau):
            updates = with_room(updates, filled + len(tau))
            for k in range(len(tau)):
                if tau[k] == 0.0:
                    continue
                topic = scored.topics[k]
                updates.topics[filled], updates.tau[filled] = topic, tau[k]
                updates.lesson[filled] = lesson
                filled += 1
                mass[topic] += abs(tau[k]) * lengths[lesson]
                heaviest = max(heaviest, mass[topic])
                number[0] = tau[k]
                round_ = np.uint64(lessons.round[lesson])
                history[topic] = next_history(history[topic], round_, bits[0])
                if tau[k] < 0.0:
                    falls[lesson] = max(falls[lesson], -tau[k])
            for k in range(relevant):
                positive[first + k] = tau[k]
            if DENSE * (filled - start) > topics:
                if dense_rows == len(dense.tau):
                    dense = DenseUpdates(
                        dense.place, np.concatenate((dense.tau, np.empty_like(dense.tau)))
                    )
                row = dense.tau[dense_rows]
                row[:] = 0.0
                for k in range(start, filled):
                    row[updates.topics[k]] = updates.tau[k]
                dense.place[lesson] = dense_rows
                dense_rows += 1
            else:
                for k in range(start, filled):
                    updates.before[k] = last[updates.topics[k]]
                    last[updates.topics[k]] = k
        lesson += 1
        updates.starts[lesson] = filled
    for k in range(updates.starts[lesson]):
        last[updates.topics[k]] = -1
    updates.starts[lesson:] = updates.starts[lesson]
    return Resolved(lesson, end, effort, needed, updates)
