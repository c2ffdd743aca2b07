"""Twin of `learners/sharding/content_checksum.py`."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from learners.segment import Segment
from learners.slow.committee import scrambled

FACTOR = 0xD6E8FEB86659FD93


def slow_checksum(segment: Segment, exchange: int) -> bytes:
    """The checksum of a segment and of the number of an exchange."""
    rows, steps = segment.rows, segment.steps
    starts = steps.label_starts.tolist()
    sums = [segment.topics, exchange, 1, 2]
    for numbers in (
        rows.starts.tolist(), rows.terms.tolist(), [bits(value) for value in rows.values],
        steps.row.tolist(), steps.learn.tolist(), steps.known.tolist(), steps.ranked.tolist(),
        [start - starts[0] for start in starts], steps.labels.tolist()[starts[0] : starts[-1]],
    ):  # fmt: skip
        add(numbers, sums)
    words = (folded(sums), folded(sums[::-1]))
    return struct.pack("<QQ", *words)


def bits(value: float) -> int:
    """The bits of a double as a number."""
    word: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    return word


def add(numbers: Sequence[int], sums: list[int]) -> None:
    """Add numbers to the four sums in turn, those after the last four and the length to the first.

    Each number is added to what all before it in the same sum have made of it.
    """
    whole = len(numbers) // 4 * 4
    for i, number in enumerate(numbers):
        place = i % 4 if i < whole else 0
        sums[place] = added(sums[place], number)
    sums[0] = added(sums[0], len(numbers))


def added(total: int, number: int) -> int:
    """One step of a sum."""
    product = (total ^ number % 2**64) * FACTOR % 2**64
    return product ^ product >> 32


def folded(sums: Sequence[int]) -> int:
    """One word of all four sums."""
    word = 0
    for total in sums:
        word = scrambled(word ^ total)
    return word
