"""Encode batches of events as records of the log, split where a record would be too large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.log.record import LogRecord, Span, encode_record
from pipeline.text.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class EventBatch:
    """The usable events of one span of a source, with their offsets; there may be none."""

    span: Span
    offsets: list[int]
    events: list[Event]
    arrived: int = 0  # when the first event was written to the source, in ms since 1970

    def halves(self) -> list[EventBatch]:
        """Split the batch into two, each with half of the events."""
        half = len(self.events) // 2
        span, border = self.span, self.offsets[half]
        return [
            replace(
                self,
                span=replace(span, stop=border),
                offsets=self.offsets[:half],
                events=self.events[:half],
            ),
            replace(
                self,
                span=replace(span, start=border),
                offsets=self.offsets[half:],
                events=self.events[half:],
            ),
        ]


def encode_batches(
    batches: Sequence[EventBatch], tokenizer: Tokenizer, max_bytes: int
) -> Iterator[bytes]:
    """Encode batches as records, in order, each of at most `max_bytes`.

    A single event cannot be split. The limit on the size of events must ensure that it fits.
    """
    data = encode_record(one_record(batches, tokenizer))
    if len(data) <= max_bytes or sum(len(batch.events) for batch in batches) <= 1:
        yield data
        return
    parts = [[batch] for batch in batches]
    if len(batches) == 1:
        parts = [[half] for half in batches[0].halves()]
    for part in parts:
        yield from encode_batches(part, tokenizer, max_bytes)


def one_record(batches: Sequence[EventBatch], tokenizer: Tokenizer) -> LogRecord:
    """Put all batches into one record."""
    span_of = [i for i, batch in enumerate(batches) for _ in batch.events]
    return LogRecord(
        make_block([event for batch in batches for event in batch.events], tokenizer),
        tuple(batch.span for batch in batches),
        np.array(span_of, np.int64),
        np.array([offset for batch in batches for offset in batch.offsets], np.int64),
        min((batch.arrived for batch in batches), default=0),
    )
