"""Which offsets of its sources a log covers: drop what is repeated, stop where some are missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pipeline.log.block import Block
from pipeline.log.record import LogRecord, Span
from pipeline.text.tokenizer import TermCounts


class GapError(Exception):
    """The log lacks a stretch of its source; the message says which, and what to do."""


class Coverage:
    """How far a log has come in each partition of its sources."""

    def __init__(self, reached: dict[tuple[str, str, int], int] | None = None) -> None:
        self.reached = reached or {}

    @classmethod
    def from_state(cls, state: Iterable[list[Any]]) -> Coverage:
        """Restore a coverage from what `state` returned."""
        return cls({(topic, identity, part): offset for topic, identity, part, offset in state})

    def admit(self, record: LogRecord, name: str) -> Block | None:
        """What is new in a record, or None if nothing is; raise `GapError` if something is missing.

        The first record of a partition may start anywhere: a log need not begin with its source.
        """
        old = np.empty(len(record.spans), np.int64)
        for i, span in enumerate(record.spans):
            reached = self.reached.get(span.source, span.start)
            if span.start > reached:
                missing = Span(span.topic, span.partition, reached, span.start)
                raise GapError(
                    f"{name} begins after a gap: {missing} are in no earlier record of the log. "
                    "If the source still holds them, set the tokenizers' group back to "
                    f"{reached} and remove the log from here on; if not, start a new log."
                )
            old[i] = reached
        for span in record.spans:
            self.reached[span.source] = max(self.reached.get(span.source, 0), span.stop)
        fresh = record.offsets >= old[record.span_of]
        if fresh.all():
            return record.block if len(fresh) else None
        return select_entries(record.block, np.flatnonzero(fresh).tolist()) if fresh.any() else None

    def state(self) -> list[list[Any]]:
        """What a snapshot keeps of it."""
        return [[*source, offset] for source, offset in self.reached.items()]


def select_entries(block: Block, places: list[int]) -> Block:
    """The block with only these of its entries."""
    entries, rows = [], []
    for place in places:
        entry = block.entries[place]
        if entry.row is not None:
            rows.append(entry.row)
            entry = entry._replace(row=len(rows) - 1)
        entries.append(entry)
    counts = block.counts
    pieces = [np.arange(counts.starts[row], counts.starts[row + 1]) for row in rows]
    chosen = np.concatenate([np.empty(0, np.int64), *pieces])
    starts = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    kept = TermCounts(counts.table, starts, counts.terms[chosen], counts.values[chosen])
    return Block(entries, kept, block.ready[rows])
