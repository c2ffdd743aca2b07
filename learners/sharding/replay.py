"""Replay the steps of a stretch on the prototypes of a shard, once all updates are known.

Every number is computed by the operations of an undivided learner, in the same order. So scores and
prototypes equal its scores and prototypes to the last bit.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats, Longs
from learners.jit import njit
from learners.prototypes.kernel import add_outer, score_row
from learners.segment import Rows, Steps, row_of
from learners.sharding.certain_leads import Updates

# Scoring some topics of a row takes this many times as long, per topic, as scoring all of them.
SCATTERED = 6


@njit
def score_rows(rows: Rows, wanted: Longs, weights: Floats, scores: Floats) -> None:
    """Write the scores of the wanted rows by these prototypes, one row after another."""
    starts, all_terms, all_values = rows
    for place in range(len(wanted)):
        terms, values = row_of(starts, all_terms, all_values, wanted[place])
        score_row(terms, values, weights, scores.shape[1], scores[place])


@njit
def row_lengths(rows: Rows, wanted: Longs) -> Floats:
    """Return the Euclidean length of each wanted row."""
    lengths = np.empty(len(wanted))
    for place in range(len(wanted)):
        square = 0.0
        for value in rows.values[rows.starts[wanted[place]] : rows.starts[wanted[place] + 1]]:
            square += value * value
        lengths[place] = np.sqrt(square)
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
def score_some(
    rows: Rows, row: int, weights: Floats, columns: Longs, sums: Floats, scores: Floats
) -> None:
    """Write the scores of some columns, added in the order of the terms as `score_row` does."""
    starts, all_terms, all_values = rows
    sums[: len(columns)] = 0.0
    for i in range(starts[row], starts[row + 1]):
        value, weight = all_values[i], weights[all_terms[i]]
        for k in range(len(columns)):
            sums[k] += value * weight[columns[k]]
    for k in range(len(columns)):
        scores[columns[k]] = sums[k]


@njit
def replay(
    rows: Rows, steps: Steps, lesson_of: Longs, initial_of: Longs, initial: Floats,
    updates: Updates, shard: int, shards: int, average: bool, rounds: int, weights: Floats,
    lagging: Floats, own: Floats,
) -> int:  # fmt: skip
    """Take the steps in order: write own scores to `own`, move own prototypes; return the rounds.

    Step i is lesson `lesson_of[i]`, or none if -1. Row i has the scores `initial[initial_of[i]]`
    at the beginning, or none that are known if -1.
    """
    starts, all_terms, all_values = rows
    columns = weights.shape[1]
    tau, lag, sums = np.zeros(columns), np.zeros(columns), np.zeros(columns)
    is_touched, touched, count = np.zeros(columns, np.bool_), np.zeros(columns, np.int64), 0
    for step in range(len(steps.row)):
        row = int(steps.row[step])
        terms, values = row_of(starts, all_terms, all_values, row)
        if steps.learn[step]:
            lesson, known = lesson_of[step], 0
            if lesson >= 0:
                for k in range(updates.starts[lesson], updates.starts[lesson + 1]):
                    topic = updates.topics[k]
                    if topic % shards != shard:
                        continue
                    column = topic // shards
                    tau[column] = updates.tau[k]
                    known = max(known, column + 1)
                    if not is_touched[column]:
                        is_touched[column], touched[count] = True, column
                        count += 1
            if known > 0:
                add_outer(terms, values, tau, 1.0, known, weights)
                if average and rounds > 0:
                    add_outer(terms, values, tau, float(rounds), known, lagging)
                tau[:known] = 0.0
            rounds += 1
            continue
        known = (int(steps.known[step]) - shard + shards - 1) // shards
        scores = own[row]
        if initial_of[row] < 0 or SCATTERED * count > known:
            score_row(terms, values, weights, known, scores)
        else:
            # A topic that became known since then has no number here yet that would be right.
            changed = touched[:count][touched[:count] < known]
            scores[:known] = initial[initial_of[row], :known]
            score_some(rows, row, weights, changed, sums, scores)
        if average and rounds > 0:
            score_row(terms, values, lagging, known, lag)
            for column in range(known):
                scores[column] = (rounds * scores[column] - lag[column]) / rounds
    return rounds
