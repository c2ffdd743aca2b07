"""Whether the scores at hand decide a lesson.

Rounding must not change which topics a relevant one leads, and topics that were not sent must stay
behind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Bytes, Floats, Ints, Longs
from learners.jit import njit
from learners.sharding.level_topics import mixed
from learners.sharding.rounding_bounds import UNIT, Words
from learners.sharding.sparse_stretch import Lessons

# Why a stretch ended: after its last lesson, before one that the scores at hand do not decide, or
# because it took too much effort. A topic that was not sent may be too high because the relevant
# ones fell, or because it rose.
COMPLETE, ROUNDING, FALL, RISE, EFFORT = 0, 1, 2, 3, 4
NO_MOVES = np.zeros(0, np.uint64)


class Updates(NamedTuple):
    """How the lessons moved topics; lesson i moved the topics `starts[i]:starts[i + 1]` by tau."""

    starts: Longs
    topics: Ints
    tau: Floats
    before: Longs  # of each topic here: its last entry in an earlier sparse update, or -1
    lesson: Ints  # of each entry


class DenseUpdates(NamedTuple):
    """The tau of all topics, for those updates that move many topics."""

    place: Longs  # of each lesson: its row of `tau`, or -1
    tau: Floats


class Scored(NamedTuple):
    """Topics of one lesson with their scores, updates of the stretch included."""

    topics: Ints  # the relevant topics first
    scores: Floats
    touched: Bools  # whether an update of the stretch changed the score
    slack: Floats  # how far the score may be from that of an undivided learner; 0 if it is exact
    coded: Bools  # whether the score was not exact from the beginning
    level: Bytes  # topics with the same number were level at the beginning; 0 if that is not known


@njit
def next_history(history: np.uint64, round_: np.uint64, tau_bits: np.uint64) -> np.uint64:
    """Return the history of a topic after one more update. Other updates give another history."""
    return mixed(mixed(history, round_), tau_bits)


@njit
def moves_by(
    lesson: int, products: Floats, updates: Updates, dense: DenseUpdates, last: Longs,
    scored: Scored,
) -> Words:  # fmt: skip
    """Return what happened to topics in the stretch, as far as this lesson is concerned.

    It is a history of the updates by lessons that share a term with this one. Topics that are not
    known to be level with another one have none.
    """
    moves = np.zeros(len(scored.topics), np.uint64)
    places, line = np.flatnonzero(scored.level), products[lesson]
    tau_bits, dense_bits = updates.tau.view(np.uint64), dense.tau.view(np.uint64)
    for place in places:
        entry = last[scored.topics[place]]
        while entry >= 0:
            if line[updates.lesson[entry]] != 0.0:
                number = np.uint64(updates.lesson[entry])
                moves[place] = next_history(moves[place], number, tau_bits[entry])
            entry = updates.before[entry]
    for i in range(lesson):
        if dense.place[i] >= 0 and line[i] != 0.0:
            bits = dense_bits[dense.place[i]]
            for place in places:
                tau = bits[scored.topics[place]]
                if tau != 0:
                    moves[place] = next_history(moves[place], np.uint64(i), tau)
    return moves


@njit
def leads_are_certain(
    scored: Scored, relevant: int, margin: float, history: Words, moves: Words
) -> bool:
    """Return whether no error within the slack changes which topics a relevant one leads.

    Exact scores decide. So do topics with the same history, which are level in any arithmetic, and
    topics that were level at the beginning and have made the same `moves`, if these are given.
    """
    topics, scores, _, slack, coded, level = scored
    for i in range(relevant):
        score, past, own_slack = scores[i], history[topics[i]], slack[i]
        fixed = own_slack + UNIT * (abs(score) + margin)
        doubtful = False
        for k in range(relevant, len(topics)):  # without a branch, so that it is vectorised
            close = abs(score - scores[k] - margin) <= fixed + slack[k] + UNIT * abs(scores[k])
            doubtful |= close & (own_slack + slack[k] > 0.0)
        if not doubtful:
            continue
        for k in range(relevant, len(topics)):
            close = abs(score - scores[k] - margin) <= fixed + slack[k] + UNIT * abs(scores[k])
            if close and own_slack + slack[k] > 0.0 and (coded[k] or history[topics[k]] != past):
                if len(moves) == 0 or level[k] == 0 or level[k] != level[i]:
                    return False
                if moves[k] != moves[i]:
                    return False
    return True


@njit
def others_stay_behind(
    lessons: Lessons, lesson: int, products: Floats, lift: float, bound: float, falls: Floats,
    updates: Updates, positive: Floats, scored: Scored, relevant: int, margin: float,
    widest: float, sent: Bools,
) -> tuple[int, float]:  # fmt: skip
    """Return COMPLETE if every relevant topic leads all topics that were not sent by the margin.

    Otherwise return why this is not certain. The second number is the lowest score of a relevant
    topic now, or the largest ratio of a rise to the one that was expected.

    Before the stretch no such topic scored more than `bound`, together with the rise that was
    expected of it. Only labels of the stretch can rise more than that, and all topics by updates
    of lessons with a negative inner product. Falls are not counted. `falls` is the largest fall at
    each lesson, `positive` the tau of each label of the stretch if above 0, and `widest` the slack
    of a score.
    """
    if bound == -np.inf:
        return COMPLETE, 0.0
    any_touched = False
    rises = np.zeros(lessons.distinct)
    expected = np.zeros(lessons.distinct)
    anywhere = 0.0
    line = products[lesson]
    for i in range(lesson):
        product = line[i]
        if product == 0.0:
            continue
        if updates.starts[i + 1] > updates.starts[i]:
            any_touched = True
        if product < 0.0:
            anywhere -= product * falls[i]
            continue
        step = product * lift
        for k in range(lessons.label_starts[i], lessons.label_starts[i + 1]):
            place = lessons.places[k]
            expected[place] += step
            rises[place] += product * positive[k]
    lowest = np.inf
    for i in range(relevant):
        lowest = min(lowest, scored.scores[i] - scored.slack[i])
    if not any_touched:
        return (COMPLETE if lowest - bound > margin else FALL), lowest
    excess, size, ratio = 0.0, 0.0, 0.0
    for place in range(lessons.distinct):
        if not sent[place]:
            excess = max(excess, rises[place] - expected[place])
            size = max(size, rises[place] + expected[place])
            if expected[place] > 0.0:
                ratio = max(ratio, rises[place] / expected[place])
    highest = bound + excess + anywhere
    # Every sum above has at most `lesson` terms, which are not negative.
    slack = widest + UNIT * (lesson + 8) * (size + anywhere)
    slack += 4.0 * UNIT * (abs(bound) + abs(lowest) + abs(highest) + margin)
    if lowest - highest - margin > slack:
        return COMPLETE, 0.0
    return (RISE, ratio) if excess > 0.0 and lowest - bound - margin > slack else (FALL, lowest)
