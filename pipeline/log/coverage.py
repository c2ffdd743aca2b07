"""Which source offsets the log covers so far: skip repeated events, and stop at a gap.

Tokenizers write at least once: a tokenizer may repeat what another one wrote before it died. Every
record names the source offsets that it covers. So every reader can skip the events that an earlier
record covered, and can tell when events are missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pipeline.log.block import Block
from pipeline.log.record import LogRecord, Span
from pipeline.text.tokenizer import TermCounts


class GapError(Exception):
    """Some offsets of a source are missing in the log; the message says which and what to do."""


class Coverage:
    """The next offset that the log needs from each partition of its sources."""

    def __init__(self, reached: dict[tuple[str, str, int], int] | None = None) -> None:
        self.reached = reached or {}

    @classmethod
    def from_state(cls, state: Iterable[list[Any]]) -> Coverage:
        """Restore a coverage from what `state` returned."""
        return cls({(topic, identity, part): offset for topic, identity, part, offset in state})

    def state(self) -> list[list[Any]]:
        """Return the coverage as lists, for a snapshot."""
        return [[*source, offset] for source, offset in self.reached.items()]

    def cover(self, spans: Iterable[Span]) -> None:
        """Add the source offsets that a record covers."""
        for span in spans:
            self.reached[span.source] = max(self.reached.get(span.source, 0), span.stop)

    def admit(self, record: LogRecord, name: str) -> Block | None:
        """Return the entries of a record that are new, or None if there are none.

        Raises `GapError` if offsets are missing before the record. The first record of a partition
        may start at any offset, because a log need not begin with its source.
        """
        reached_before = np.empty(len(record.spans), np.int64)
        for i, span in enumerate(record.spans):
            reached = self.reached.get(span.source, span.start)
            if span.start > reached:
                missing = Span(span.topic, span.partition, reached, span.start)
                raise GapError(
                    f"{name} begins after a gap: {missing} are in no earlier record of the log. "
                    "Start a new log: name another Kafka topic for `blocks`, set the tokenizers' "
                    "consumer group back to the first document that the log should contain, and "
                    "empty the snapshot folder."
                )
            reached_before[i] = reached
        self.cover(record.spans)
        new = record.offsets >= reached_before[record.span_of]
        if new.all():
            return record.block if len(new) else None
        return select_entries(record.block, np.flatnonzero(new).tolist()) if new.any() else None


def select_entries(block: Block, indices: list[int]) -> Block:
    """Return a block with only some entries of another."""
    entries, rows = [], []
    for i in indices:
        entry = block.entries[i]
        if entry.row is not None:
            rows.append(entry.row)
            entry = entry._replace(row=len(rows) - 1)
        entries.append(entry)
    counts = block.counts
    ranges = [np.arange(counts.starts[row], counts.starts[row + 1]) for row in rows]
    chosen = np.concatenate([np.empty(0, np.int64), *ranges])
    starts = np.cumsum([0, *map(len, ranges)], dtype=np.int64)
    selected = TermCounts(counts.table, starts, counts.terms[chosen], counts.values[chosen])
    return Block(entries, selected, block.ready[rows])
