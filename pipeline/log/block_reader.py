"""Read a source as blocks: decode its events and set the malformed ones aside."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.corpora.source import RefusedEvent, Source, SourceError, numbered
from pipeline.events.dead_letters import DeadLetter
from pipeline.events.event import MAX_EVENT_BYTES, Event, MalformedEvent
from pipeline.events.formats import Decoder, new_decoder
from pipeline.events.record import Record
from pipeline.log.block import Block, make_block
from pipeline.log.read_events import EventDigest, FoundPlace, ReadEvents, as_event
from pipeline.text.tokenizer import Tokenizer

MAX_BLOCK_BYTES = 4 << 20  # a block of very large events has fewer of them


class SourceBlock(NamedTuple):
    """A block that was read from a source, with the malformed events between its events."""

    block: Block
    dead_letters: list[DeadLetter]
    events: int  # events read from the source so far, malformed ones included
    began: float  # when the first event of the block was read, by `time.perf_counter`
    read: ReadEvents | None  # the events so far, if the reader keeps their digest


class BlockReader:
    """Reads a source as blocks of at most `block` events, `limit` events in all (0: no limit).

    With a `place` it goes on there; the events before it count for the limit.
    """

    def __init__(
        self,
        source: Source,
        tokenizer: Tokenizer,
        block: int,
        limit: int = 0,
        max_event_bytes: int = MAX_EVENT_BYTES,
        decode: Decoder | None = None,
        place: FoundPlace | None = None,
    ) -> None:
        self._lines = numbered(source) if place is None else place.lines
        self._tokenizer = tokenizer
        self._block = block
        self._limit = limit
        self._max_event_bytes = max_event_bytes
        self._decode = decode or new_decoder("wirerank")
        self._digest: EventDigest | None = None if place is None else place.digest
        self._event_count = 0 if place is None else place.digest.events
        self._began = 0.0
        self._events: list[Event] = []
        self._dead_letters: list[DeadLetter] = []

    def __iter__(self) -> Iterator[SourceBlock]:
        size = 0
        if self._limit and self._event_count >= self._limit:
            return
        while True:
            try:
                line, raw = next(self._lines, (0, None))
            except SourceError:
                if self._events or self._dead_letters:
                    yield self._next_block()  # the events before the damage count
                raise
            if raw:  # empty bytes mean that no more events are available for now
                if not size:
                    self._began = time.perf_counter()
                size += len(raw)
                self._add(line, raw)
            done = raw is None or (self._limit and self._event_count >= self._limit)
            count = len(self._events) + len(self._dead_letters)
            full = count >= self._block or size >= MAX_BLOCK_BYTES
            if count and (done or full or not raw):
                yield self._next_block()
                size = 0
            if done:
                return

    def _add(self, line: int, raw: bytes) -> None:
        """Decode a line. Blank lines are skipped, and malformed events become dead letters."""
        event = as_event(raw)
        if not event:
            return
        self._event_count += 1
        if self._digest is not None:
            self._digest.add(event)
        if isinstance(raw, RefusedEvent):
            self._dead_letters.append(DeadLetter(raw, line, raw.refusal))
            return
        try:
            self._events.append(self._decode(Record(event, offset=line), self._max_event_bytes))
        except MalformedEvent as problem:
            self._dead_letters.append(DeadLetter(raw, line, problem.refusal))

    def _next_block(self) -> SourceBlock:
        block = make_block(self._events, self._tokenizer)
        read = None if self._digest is None else self._digest.so_far
        result = SourceBlock(block, self._dead_letters, self._event_count, self._began, read)
        self._events, self._dead_letters = [], []
        return result
