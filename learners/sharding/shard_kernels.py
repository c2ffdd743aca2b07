"""Kernels of a stretch: the steps that every shard takes alone, from scores that all exchanged.

An update at row i by tau changes the scores of a later row j by `(x_i . x_j) tau`. So taking the
steps needs no prototypes, only the scores at the beginning of the stretch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit
from learners.prototypes.kernel import add_outer, score_row
from learners.prototypes.mmp import mmp_coefficients
from learners.prototypes.perceptron import perceptron_coefficients
from learners.segment import Rows, Steps
from learners.sharding.rounding_bounds import (
    UNIT,
    Bounds,
    Words,
    leads_are_certain,
    order_is_certain,
    sides_are_certain,
)
from learners.update_rule import MMP_RULE, UpdateRule

# Effort (in numbers read) that takes about as long as one exchange. Each step of a stretch takes
# more effort than the one before, so from here on another exchange is cheaper.
ENOUGH = 4_000_000
DENSE = 4  # a loop over whole vectors is this many times as fast as one over scattered numbers
MIX = np.uint64(0x9E3779B97F4A7C15)
TURN, BACK, ONE = np.uint64(29), np.uint64(35), np.uint64(1)


class InitialScores(NamedTuple):
    """Scores by the prototypes at the beginning of a stretch; row i is at `place[i]`."""

    place: Longs
    current: Floats  # by the prototypes
    lag: Floats  # by the lagging sums, for learners that average


class TopicRecords(NamedTuple):
    """What every shard knows about all topics. Kernels update it in place."""

    mass: Floats  # upper bound of the length of the prototype
    lag_mass: Floats  # upper bound of the length of the lagging sum
    history: Words  # hash of all updates


class RunningScores(NamedTuple):
    """The scores of one row, updates of the stretch included."""

    current: Floats
    lag: Floats
    touched: Bools  # topics whose score an update has changed


class Updates(NamedTuple):
    """The updates of a stretch in order; update i moves the topics `starts[i]:starts[i + 1]`."""

    row: Longs
    round: Longs
    starts: Longs
    topics: Longs
    tau: Floats


class DenseUpdates(NamedTuple):
    """The tau of all topics, for those updates that move many topics."""

    place: Longs  # of each update: its row of `tau`, or -1
    tau: Floats


class Resolved(NamedTuple):
    """What `resolve` did."""

    steps: int  # taken
    effort: int
    rounds: int  # learned so far
    updates: Updates


@njit
def score_rows(rows: Rows, wanted: Longs, weights: Floats, scores: Floats) -> None:
    """Write the scores of the wanted rows by these prototypes, one row after another."""
    starts, terms, values = rows
    for place in range(len(wanted)):
        row = wanted[place]
        start, stop = starts[row], starts[row + 1]
        score_row(terms[start:stop], values[start:stop], weights, scores.shape[1], scores[place])


@njit
def row_lengths(rows: Rows) -> Floats:
    """Return the Euclidean length of each row."""
    lengths = np.empty(len(rows.starts) - 1)
    for row in range(len(lengths)):
        square = 0.0
        for value in rows.values[rows.starts[row] : rows.starts[row + 1]]:
            square += value * value
        lengths[row] = np.sqrt(square)
    return lengths


@njit
def column_lengths(weights: Floats, rows: int, columns: int) -> Floats:
    """Return the Euclidean length of each of the first columns, rounded up."""
    squares = np.zeros(columns)
    for row in range(rows):
        numbers = weights[row]
        for column in range(columns):
            squares[column] += numbers[column] * numbers[column]
    return np.sqrt(squares) * (1.0 + 1e-6)


@njit
def product(work: Floats, terms: Ints, values: Floats) -> float:
    """Return the inner product of a sparse row and the row laid out in `work`."""
    total = 0.0
    for i in range(len(terms)):
        total += work[terms[i]] * values[i]
    return total


@njit
def overlaps(work: Floats, terms: Ints) -> bool:
    """Return whether a sparse row shares a term with the row laid out in `work`."""
    shared = False
    for term in terms:
        shared |= work[term] != 0.0
    return shared


@njit
def next_history(history: np.uint64, round_: np.uint64, tau_bits: np.uint64) -> np.uint64:
    """Return the history of a topic after one more update. Other updates give another history."""
    word = (history ^ (history >> TURN)) * MIX + round_
    word = (word ^ (word >> BACK)) * MIX + tau_bits
    mixed: np.uint64 = (word ^ (word >> TURN)) * MIX + ONE
    return mixed


@njit
def add_updates(
    rows: Rows, row: int, count: int, updates: Updates, dense: DenseUpdates, average: bool,
    work: Floats, scores: RunningScores,
) -> int:  # fmt: skip
    """Add the effect of the first `count` updates to the scores of a row; return the effort.

    `work` is zero before and after; it has one number per term.
    """
    starts, all_terms, all_values = rows
    current, lag, touched = scores
    touched[:] = False
    begin, end = starts[row], starts[row + 1]
    for i in range(begin, end):
        work[all_terms[i]] = all_values[i]
    effort = 0
    for update in range(count):
        start, stop = starts[updates.row[update]], starts[updates.row[update] + 1]
        effort += stop - start
        shared = product(work, all_terms[start:stop], all_values[start:stop])
        if shared == 0.0 and not overlaps(work, all_terms[start:stop]):
            continue
        before = shared * updates.round[update]
        if dense.place[update] >= 0:
            tau = dense.tau[dense.place[update]]
            effort += len(tau) // DENSE
            for r in range(len(tau)):
                current[r] += shared * tau[r]
                touched[r] |= tau[r] != 0.0
            if average:
                for r in range(len(tau)):
                    lag[r] += before * tau[r]
            continue
        effort += updates.starts[update + 1] - updates.starts[update]
        for i in range(updates.starts[update], updates.starts[update + 1]):
            topic = updates.topics[i]
            current[topic] += shared * updates.tau[i]
            touched[topic] = True
            if average:
                lag[topic] += before * updates.tau[i]
    for i in range(begin, end):
        work[all_terms[i]] = 0.0
    return effort


@njit
def average_scores(
    scores: RunningScores, known: int, rounds: int, unit: float, topics: TopicRecords,
    ranked: Floats, slack: Floats,
) -> None:  # fmt: skip
    """Write the scores by the mean of the prototypes, as an undivided learner computes them."""
    current, lag, touched = scores
    for r in range(known):
        ranked[r] = (rounds * current[r] - lag[r]) / rounds
        if touched[r]:
            slack[r] += unit * (topics.mass[r] + 2.0 * topics.lag_mass[r] / rounds)


@njit
def resolve(
    rows: Rows, lengths: Floats, steps: Steps, initial: InitialScores, rule: UpdateRule,
    rounds: int, records: TopicRecords, work: Floats, out: Floats,
) -> Resolved:  # fmt: skip
    """Take the steps in order until one is not certain, or the effort is `ENOUGH`.

    Scores of ranking steps are written to `out`. `lengths` are the Euclidean lengths of the rows.
    `work` is as for `add_updates`.
    """
    topics, count = initial.current.shape[1], len(steps.row)
    mass, lag_mass, history = records
    current, lag, touched = np.zeros(topics), np.zeros(topics), np.zeros(topics, np.bool_)
    scores = RunningScores(current, lag, touched)
    ranked, slack, tau = np.zeros(topics), np.zeros(topics), np.zeros(topics)
    bounds = Bounds(touched, slack, history)
    tau_bits = tau.view(np.uint64)
    updates = Updates(
        np.empty(count, np.int64), np.empty(count, np.int64), np.zeros(count + 1, np.int64),
        np.empty(256, np.int64), np.empty(256),
    )  # fmt: skip
    dense, dense_rows = DenseUpdates(np.full(count, -1, np.int64), np.empty((4, topics))), 0
    longest = int((rows.starts[steps.row + 1] - rows.starts[steps.row]).max())
    scored = -1  # the row that `scores` belongs to
    updated = step = effort = 0
    while step < count and effort < ENOUGH:
        row, known = int(steps.row[step]), int(steps.known[step])
        if scored != row:
            current[:] = initial.current[initial.place[row]]
            if rule.average:
                lag[:] = initial.lag[initial.place[row]]
            effort += add_updates(rows, row, updated, updates, dense, rule.average, work, scores)
            scored = row
        unit = UNIT * (longest + updated + 16) * lengths[row]
        for r in range(topics):
            slack[r] = unit * mass[r] if touched[r] else 0.0
        if not steps.learn[step]:
            ranked[:known] = current[:known]
            if rule.average and rounds > 0:
                average_scores(scores, known, rounds, unit, records, ranked, slack)
            if not order_is_certain(ranked, known, bounds):
                break
            out[row, :known] = ranked[:known]
            step += 1
            continue
        relevant = steps.labels[steps.label_starts[step] : steps.label_starts[step + 1]]
        if rule.kind == MMP_RULE:
            if not leads_are_certain(current, known, relevant, rule.margin, bounds):
                break
            moved = mmp_coefficients(current, known, relevant, rule.loss, rule.margin, tau)
        else:
            if not sides_are_certain(current, known, rule.margin, bounds):
                break
            moved = perceptron_coefficients(current, known, relevant, rule.margin, tau)
        if moved:
            first = filled = updates.starts[updated]
            updates = with_room(updates, filled + known)
            for r in range(known):
                if tau[r] == 0.0:
                    continue
                updates.topics[filled], updates.tau[filled] = r, tau[r]
                filled += 1
                mass[r] += abs(tau[r]) * lengths[row]
                lag_mass[r] += rounds * abs(tau[r]) * lengths[row]
                history[r] = next_history(history[r], np.uint64(rounds), tau_bits[r])
            if DENSE * (filled - first) > topics:
                if dense_rows == len(dense.tau):
                    room = np.concatenate((dense.tau, np.empty_like(dense.tau)))
                    dense = DenseUpdates(dense.place, room)
                dense.tau[dense_rows, :known], dense.tau[dense_rows, known:] = tau[:known], 0.0
                dense.place[updated] = dense_rows
                dense_rows += 1
            updates.row[updated], updates.round[updated] = row, rounds
            updated += 1
            updates.starts[updated] = filled
        rounds += 1
        scored = -1
        step += 1
    taken = Updates(
        updates.row[:updated], updates.round[:updated], updates.starts[: updated + 1],
        updates.topics, updates.tau,
    )  # fmt: skip
    return Resolved(step, effort, rounds, taken)


@njit
def with_room(updates: Updates, entries: int) -> Updates:
    """Return the updates with room for at least this many topics in all."""
    topics, tau = updates.topics, updates.tau
    while entries > len(topics):
        topics = np.concatenate((topics, np.empty_like(topics)))
        tau = np.concatenate((tau, np.empty_like(tau)))
    return Updates(updates.row, updates.round, updates.starts, topics, tau)


@njit
def apply_updates(
    rows: Rows, updates: Updates, shard: int, shards: int, average: bool, weights: Floats,
    lagging: Floats,
) -> None:  # fmt: skip
    """Move the prototypes of a shard's own topics by the updates, in order."""
    tau = np.zeros(weights.shape[1])
    for update in range(len(updates.row)):
        start, stop = rows.starts[updates.row[update]], rows.starts[updates.row[update] + 1]
        terms, values = rows.terms[start:stop], rows.values[start:stop]
        known = 0
        for i in range(updates.starts[update], updates.starts[update + 1]):
            if updates.topics[i] % shards == shard:
                known = updates.topics[i] // shards + 1
                tau[known - 1] = updates.tau[i]
        if known > 0:
            add_outer(terms, values, tau, 1.0, known, weights)
            if average and updates.round[update] > 0:
                add_outer(terms, values, tau, float(updates.round[update]), known, lagging)
            tau[:known] = 0.0
