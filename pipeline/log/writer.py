"""Events to records of the log, split where one would be too large for the broker."""

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
    """A span of a source, and the events found there with their offsets; there may be none."""

    span: Span
    offsets: list[int]
    events: list[Event]
    arrived: int = 0  # when the first of them was written there, in ms since 1970

    def halves(self) -> list[EventBatch]:
        """The same in two, each with half of the events."""
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
    stretches: Sequence[EventBatch], tokenizer: Tokenizer, most_bytes: int
) -> Iterator[bytes]:
    """Records that cover these stretches, in order, none larger than so many bytes.

    A single event cannot be split; that it fits is for the limit on events to see to.
    """
    data = encode_record(one_record(stretches, tokenizer))
    if len(data) <= most_bytes or sum(len(stretch.events) for stretch in stretches) <= 1:
        yield data
        return
    parts = [[stretch] for stretch in stretches]
    if len(stretches) == 1:
        parts = [[half] for half in stretches[0].halves()]
    for part in parts:
        yield from encode_batches(part, tokenizer, most_bytes)


def one_record(stretches: Sequence[EventBatch], tokenizer: Tokenizer) -> LogRecord:
    """All these stretches in one record."""
    span_of = [i for i, stretch in enumerate(stretches) for _ in stretch.events]
    return LogRecord(
        make_block([event for stretch in stretches for event in stretch.events], tokenizer),
        tuple(stretch.span for stretch in stretches),
        np.array(span_of, np.int64),
        np.array([offset for stretch in stretches for offset in stretch.offsets], np.int64),
        min((stretch.arrived for stretch in stretches), default=0),
    )
