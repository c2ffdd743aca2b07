"""Topics that are level for a document in any arithmetic, although they learned different things.

Two topics may have learned from different documents, and still have the same weights of the terms
of one document. Then their scores are equal to the last bit. They stay equal while both are moved
alike by documents that share a term with it. In a new lane most topics are like that.

A shard has the weights of its own topics only. So the shards compare fingerprints of these weights.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.jit import njit, njit_inline
from learners.segment import Rows
from learners.sharding.rounding_bounds import Words

MOST_CLASSES = 255  # topics that are level with a later label than this one are not found
MIX = np.uint64(0x9E3779B97F4A7C15)
TURN, BACK, ONE = np.uint64(29), np.uint64(35), np.uint64(1)


@njit_inline
def mixed(word: np.uint64, more: np.uint64) -> np.uint64:
    """Return a hash of two words."""
    word = (word ^ (word >> TURN)) * MIX + more
    return (word ^ (word >> BACK)) * MIX + ONE


@njit
def fingerprints(rows: Rows, row: int, weights: Words, columns: Longs, found: Words) -> None:
    """Write a hash of the weights of a row's terms for each of some columns."""
    found[: len(columns)] = 0
    for i in range(rows.starts[row], rows.starts[row + 1]):
        line = weights[rows.terms[i]]
        for k in range(len(columns)):
            found[k] = mixed(found[k], line[columns[k]])


@njit
def label_fingerprints(
    rows: Rows, chosen: Longs, label_starts: Longs, labels: Ints, weights: Words, shard: int,
    shards: int,
) -> Words:  # fmt: skip
    """Return the fingerprint of each own label of the chosen rows, in order."""
    marks, filled = np.empty(len(labels), np.uint64), 0
    columns = np.empty(len(labels), np.int64)
    for lesson in range(len(chosen)):
        count = 0
        for topic in labels[label_starts[lesson] : label_starts[lesson + 1]]:
            if topic % shards == shard:
                columns[count] = topic // shards
                count += 1
        fingerprints(rows, chosen[lesson], weights, columns[:count], marks[filled:])
        filled += count
    return marks[:filled]


@njit_inline
def class_of(score: float, mark: np.uint64, scores: Floats, marks: Words) -> int:
    """Return the number of the first label, from 1, that is level with a topic; 0 if none is."""
    for place in range(min(len(scores), MOST_CLASSES)):
        if scores[place] == score and marks[place] == mark:
            return place + 1
    return 0
