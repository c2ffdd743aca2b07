"""Cuts blocks into parts that lanes follow at once, and joins parts of several blocks.

Within a part, the vocabulary has one numbering, and no lane exceeds its room for scores. Every part
costs the shards of a lane some exchanges, so small blocks that wait are joined. Results do not
depend on how blocks are cut or joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from learners.segment import Rows
from pipeline.log.block import Block, Entry
from pipeline.text.features import Vectors, Vocabulary


@dataclass(frozen=True, slots=True)
class BlockPart:
    """The vectors of consecutive documents, and the entries of the log that belong to them."""

    vectors: Vectors
    # Entries of one block after another. The second value is what an entry's row in its block
    # exceeds its row in the vectors by.
    entries: list[tuple[list[Entry], int]]
    is_last: bool  # of its block


def parts_of(
    blocks: Sequence[Block], vocabulary: Vocabulary, max_rows: Callable[[], int]
) -> Iterator[BlockPart]:
    """Yield the parts of blocks, which have `max_rows` rows at most.

    The vocabulary drops terms only within a block, so the end of one block can be joined with the
    beginning of the next one.
    """
    waiting: list[BlockPart] = []
    for block in blocks:
        for part in cut(block, vocabulary, max_rows):
            rows = sum(len(one.vectors.rows) for one in waiting)
            if waiting and rows + len(part.vectors.rows) > max_rows():
                yield joined(waiting)
                waiting = []
            waiting.append(part)
            if not part.is_last:
                yield joined(waiting)
                waiting = []
    if waiting:
        yield joined(waiting)


def cut(block: Block, vocabulary: Vocabulary, max_rows: Callable[[], int]) -> Iterator[BlockPart]:
    """Yield the parts of one block."""
    entries, at = block.entries, 0
    for numbered in vocabulary.vectors(block.counts, block.ready):
        for vectors in numbered.split(max_rows()):
            end, stop = vectors.first + len(vectors.rows), len(entries)
            is_last = end == len(block.ready)
            if not is_last:
                stop = at
                while (row := entries[stop].row) is None or row < end:
                    stop += 1
            yield BlockPart(vectors, [(entries[at:stop], vectors.first)], is_last)
            at = stop


def joined(parts: Sequence[BlockPart]) -> BlockPart:
    """Return parts that follow one another as one; only the first may have dropped terms."""
    if len(parts) == 1:
        return parts[0]
    starts, entries, rows, values = [np.zeros(1, np.int64)], [], 0, 0
    for part in parts:
        of_part = part.vectors.rows
        entries += [(some, first - rows) for some, first in part.entries]
        starts.append(values + of_part.starts[1:])
        rows, values = rows + len(of_part), values + int(of_part.starts[-1])
    joined_rows = Rows(
        np.concatenate(starts),
        np.concatenate([part.vectors.rows.terms for part in parts]),
        np.concatenate([part.vectors.rows.values for part in parts]),
    )
    first, last = parts[0], parts[-1]
    vectors = Vectors(first.vectors.first, joined_rows, last.vectors.terms, first.vectors.keep)
    return BlockPart(vectors, entries, last.is_last)
