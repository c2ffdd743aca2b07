"""Kernels of a stretch: steps that shards take alone, from scores that they have exchanged.

An update at row i by tau moves the scores of a later row j by `(x_i . x_j) tau`, so that taking the
steps needs no prototypes, only the scores at the beginning of the stretch.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit
from learners.prototypes.kernel import add_outer, score_row
from learners.prototypes.mmp import mmp_coefficients
from learners.prototypes.perceptron import perceptron_coefficients
from learners.sharding.rounding_bounds import (
    UNIT,
    Words,
    leads_are_certain,
    order_is_certain,
    sides_are_certain,
)
from learners.update_rule import MMP_RULE

# About as many numbers as are dealt with in the time of one exchange: steps taken alone get dearer
# from one to the next, so then exchanging again is cheaper.
ENOUGH = 4_000_000
DENSE = 4  # whole vectors are that many times as fast as numbers here and there
MIX = np.uint64(0x9E3779B97F4A7C15)
TURN, BACK, ONE = np.uint64(29), np.uint64(35), np.uint64(1)


@njit
def score_rows(
    starts: Longs, terms: Ints, values: Floats, wanted: Longs, weights: Floats, scores: Floats
) -> None:
    """Write the scores of the wanted rows, one after another, by these prototypes."""
    for place in range(len(wanted)):
        row = wanted[place]
        start, stop = starts[row], starts[row + 1]
        score_row(terms[start:stop], values[start:stop], weights, scores.shape[1], scores[place])


@njit
def lengths_of(starts: Longs, values: Floats) -> Floats:
    """The Euclidean length of each row."""
    lengths = np.empty(len(starts) - 1)
    for row in range(len(lengths)):
        square = 0.0
        for value in values[starts[row] : starts[row + 1]]:
            square += value * value
        lengths[row] = np.sqrt(square)
    return lengths


@njit
def column_lengths(weights: Floats, rows: int, columns: int) -> Floats:
    """The Euclidean length of each of the first columns, rounded up."""
    squares = np.zeros(columns)
    for row in range(rows):
        mine = weights[row]
        for column in range(columns):
            squares[column] += mine[column] * mine[column]
    return np.sqrt(squares) * (1.0 + 1e-6)


@njit
def product(work: Floats, terms: Ints, values: Floats) -> float:
    """The inner product of a row with the one that is spread out in `work`."""
    total = 0.0
    for i in range(len(terms)):
        total += work[terms[i]] * values[i]
    return total


@njit
def overlaps(work: Floats, terms: Ints) -> bool:
    """Whether a row has a term of the one that is spread out."""
    shared = False
    for term in terms:
        shared |= work[term] != 0.0
    return shared


@njit
def remembered(past: np.uint64, round_: np.uint64, bits: np.uint64) -> np.uint64:
    """The past of a topic after one more update; two pasts are equal only if all updates were."""
    word = (past ^ (past >> TURN)) * MIX + round_
    word = (word ^ (word >> BACK)) * MIX + bits
    mixed: np.uint64 = (word ^ (word >> TURN)) * MIX + ONE
    return mixed


@njit
def bring_up_to_date(
    starts: Longs, all_terms: Ints, all_values: Floats, row: int, moves: int,
    moved_row: Longs, moved_round: Longs, moved_starts: Longs, moved_topics: Longs,
    moved_tau: Floats, dense_of: Longs, dense: Floats, average: bool, work: Floats,
    current: Floats, lag: Floats, touched: Bools,
) -> int:  # fmt: skip
    """Add to the scores of a row what the updates of the stretch so far add to them.

    Returns how much work that was, counted in numbers.
    """
    touched[:] = False
    begin, end = starts[row], starts[row + 1]
    for i in range(begin, end):
        work[all_terms[i]] = all_values[i]
    effort = 0
    for move in range(moves):
        start, stop = starts[moved_row[move]], starts[moved_row[move] + 1]
        effort += stop - start
        shared = product(work, all_terms[start:stop], all_values[start:stop])
        if shared == 0.0 and not overlaps(work, all_terms[start:stop]):
            continue
        before = shared * moved_round[move]
        if dense_of[move] >= 0:
            tau = dense[dense_of[move]]
            effort += len(tau) // DENSE
            for r in range(len(tau)):
                current[r] += shared * tau[r]
                touched[r] |= tau[r] != 0.0
            if average:
                for r in range(len(tau)):
                    lag[r] += before * tau[r]
            continue
        effort += moved_starts[move + 1] - moved_starts[move]
        for i in range(moved_starts[move], moved_starts[move + 1]):
            topic = moved_topics[i]
            current[topic] += shared * moved_tau[i]
            touched[topic] = True
            if average:
                lag[topic] += before * moved_tau[i]
    for i in range(begin, end):
        work[all_terms[i]] = 0.0
    return effort


@njit
def average_scores(
    current: Floats, lag: Floats, known: int, rounds: int,
    unit: float, mass: Floats, lag_mass: Floats, touched: Bools, ranked: Floats, slack: Floats,
) -> None:  # fmt: skip
    """The scores by the mean of the prototypes, as an undivided learner computes them."""
    for r in range(known):
        ranked[r] = (rounds * current[r] - lag[r]) / rounds
        if touched[r]:
            slack[r] += unit * (mass[r] + 2.0 * lag_mass[r] / rounds)


@njit
def resolve(
    starts: Longs, all_terms: Ints, all_values: Floats, lengths: Floats,
    step_row: Ints, step_learn: Bools, step_known: Ints, label_starts: Longs, labels: Ints,
    place: Longs, begun: Floats, begun_lag: Floats,
    rule: int, loss: int, margin: float, average: bool, rounds: int,
    mass: Floats, lag_mass: Floats, history: Words, work: Floats, out: Floats,
) -> tuple[int, int, int, Longs, Longs, Longs, Longs, Floats]:  # fmt: skip
    """Take the steps in order until one is not certain, or it was `ENOUGH` work.

    `begun` holds the scores of the rows (each at its `place`) by the prototypes at the beginning.
    Returns how many steps were taken, how much work it was, the rounds learned so far, and the
    updates: row, round, and where the topics start of each; then all the topics and their tau.
    """
    topics = begun.shape[1]
    current, lag, ranked = np.zeros(topics), np.zeros(topics), np.zeros(topics)
    slack, tau, touched = np.zeros(topics), np.zeros(topics), np.zeros(topics, np.bool_)
    tau_bits = tau.view(np.uint64)
    moved_row, moved_round = np.empty(len(step_row), np.int64), np.empty(len(step_row), np.int64)
    moved_starts = np.zeros(len(step_row) + 1, np.int64)
    moved_topics, moved_tau = np.empty(256, np.int64), np.empty(256)
    dense_of, dense, dense_rows = np.full(len(step_row), -1, np.int64), np.empty((4, topics)), 0
    longest = int((starts[step_row + 1] - starts[step_row]).max())
    scored, moves, step, effort = -1, 0, 0, 0
    while step < len(step_row) and effort < ENOUGH:
        row, known = int(step_row[step]), int(step_known[step])
        if scored != row:
            current[:] = begun[place[row]]
            if average:
                lag[:] = begun_lag[place[row]]
            effort += bring_up_to_date(
                starts, all_terms, all_values, row, moves, moved_row, moved_round, moved_starts,
                moved_topics, moved_tau, dense_of, dense, average, work, current, lag, touched,
            )  # fmt: skip
            scored = row
        unit = UNIT * (longest + moves + 16) * lengths[row]
        for r in range(topics):
            slack[r] = unit * mass[r] if touched[r] else 0.0
        if not step_learn[step]:
            ranked[:known] = current[:known]
            if average and rounds > 0:
                average_scores(
                    current, lag, known, rounds, unit, mass, lag_mass, touched, ranked, slack
                )
            if not order_is_certain(ranked, known, touched, slack, history):
                break
            out[row, :known] = ranked[:known]
            step += 1
            continue
        relevant = labels[label_starts[step] : label_starts[step + 1]]
        if rule == MMP_RULE:
            if not leads_are_certain(current, known, relevant, margin, touched, slack, history):
                break
            moved = mmp_coefficients(current, known, relevant, loss, margin, tau)
        else:
            if not sides_are_certain(current, known, margin, touched, slack):
                break
            moved = perceptron_coefficients(current, known, relevant, margin, tau)
        if moved:
            filled = moved_starts[moves]
            while filled + known > len(moved_topics):
                moved_topics = np.concatenate((moved_topics, np.empty_like(moved_topics)))
                moved_tau = np.concatenate((moved_tau, np.empty_like(moved_tau)))
            for r in range(known):
                if tau[r] == 0.0:
                    continue
                moved_topics[filled], moved_tau[filled] = r, tau[r]
                filled += 1
                mass[r] += abs(tau[r]) * lengths[row]
                lag_mass[r] += rounds * abs(tau[r]) * lengths[row]
                history[r] = remembered(history[r], np.uint64(rounds), tau_bits[r])
            if DENSE * (filled - moved_starts[moves]) > topics:
                if dense_rows == len(dense):
                    dense = np.concatenate((dense, np.empty_like(dense)))
                dense[dense_rows, :known], dense[dense_rows, known:] = tau[:known], 0.0
                dense_of[moves] = dense_rows
                dense_rows += 1
            moved_row[moves], moved_round[moves] = row, rounds
            moves += 1
            moved_starts[moves] = filled
        rounds += 1
        scored = -1
        step += 1
    return (
        step, effort, rounds, moved_row[:moves], moved_round[:moves], moved_starts[: moves + 1],
        moved_topics, moved_tau,
    )  # fmt: skip


@njit
def apply_updates(
    starts: Longs, all_terms: Ints, all_values: Floats, moved_row: Longs, moved_round: Longs,
    moved_starts: Longs, moved_topics: Longs, moved_tau: Floats, shard: int, shards: int,
    average: bool, weights: Floats, lagging: Floats,
) -> None:  # fmt: skip
    """Move the prototypes of a shard's own topics, update after update."""
    tau = np.zeros(weights.shape[1])
    for move in range(len(moved_row)):
        start, stop = starts[moved_row[move]], starts[moved_row[move] + 1]
        terms, values = all_terms[start:stop], all_values[start:stop]
        known = 0
        for i in range(moved_starts[move], moved_starts[move + 1]):
            if moved_topics[i] % shards == shard:
                known = moved_topics[i] // shards + 1
                tau[known - 1] = moved_tau[i]
        if known > 0:
            add_outer(terms, values, tau, 1.0, known, weights)
            if average and moved_round[move] > 0:
                add_outer(terms, values, tau, float(moved_round[move]), known, lagging)
            tau[:known] = 0.0
