"""A checksum of a segment, by which shards notice that they do not follow the same documents.

It finds disagreement, for example other documents, versions or roundings. It is not for security:
somebody who wants to can make two segments with the same checksum.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Bools, Ints, Longs
from learners.jit import njit, njit_inline
from learners.segment import Segment, Steps
from learners.sharding.rounding_bounds import Words
from learners.splitmix import mix

CHECKSUM_BYTES = 16
FACTOR = np.uint64(0xD6E8FEB86659FD93)  # odd, with bits all over the word
HALF = np.uint64(32)

Sums = tuple[np.uint64, np.uint64, np.uint64, np.uint64]


@njit_inline
def add_word(total: np.uint64, word: np.uint64) -> np.uint64:
    """Add a word to a sum. For every sum, different words give different results."""
    product = (total ^ word) * FACTOR
    mixed: np.uint64 = product ^ (product >> HALF)
    return mixed


@njit
def add_numbers(numbers: Ints | Longs | Bools | Words, sums: Sums) -> Sums:
    """Add an array to the sums, and its length, so that no number can change its array.

    Every fourth number goes to the same sum: a processor computes the four at the same time.
    """
    a, b, c, d = sums
    whole = len(numbers) - len(numbers) % 4
    for i in range(0, whole, 4):
        a = add_word(a, np.uint64(numbers[i]))
        b = add_word(b, np.uint64(numbers[i + 1]))
        c = add_word(c, np.uint64(numbers[i + 2]))
        d = add_word(d, np.uint64(numbers[i + 3]))
    for i in range(whole, len(numbers)):
        a = add_word(a, np.uint64(numbers[i]))
    return add_word(a, np.uint64(len(numbers))), b, c, d


@njit
def checksum_words(
    starts: Longs, terms: Ints, values: Words, steps: Steps, topics: int, exchange: int
) -> tuple[np.uint64, np.uint64]:
    """Return the two words of the checksum."""
    sums = (np.uint64(topics), np.uint64(exchange), np.uint64(1), np.uint64(2))
    sums = add_numbers(starts, sums)
    sums = add_numbers(terms, sums)
    sums = add_numbers(values, sums)
    sums = add_numbers(steps.row, sums)
    sums = add_numbers(steps.learn, sums)
    sums = add_numbers(steps.known, sums)
    sums = add_numbers(steps.ranked, sums)
    first, last = steps.label_starts[0], steps.label_starts[-1]
    sums = add_numbers(steps.label_starts - first, sums)
    a, b, c, d = add_numbers(steps.labels[first:last], sums)
    return mix(mix(mix(mix(a) ^ b) ^ c) ^ d), mix(mix(mix(mix(d) ^ c) ^ b) ^ a)


def content_checksum(segment: Segment, exchange: int) -> bytes:
    """Return a checksum of the rows and steps of a segment, and of the number of an exchange."""
    rows = segment.rows
    words = checksum_words(
        rows.starts, rows.terms, rows.values.view(np.uint64), segment.steps, segment.topics,
        exchange,
    )  # fmt: skip
    return b"".join(int(word).to_bytes(8, "little") for word in words)
