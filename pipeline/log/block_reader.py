"""From raw events to blocks: decode, put the malformed aside, group what is good."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.corpora.source import Source, SourceError, numbered
from pipeline.events.dead_letters import DeadLetter
from pipeline.events.event import MAX_EVENT_BYTES, Decoder, Event, MalformedEvent, parse_event
from pipeline.log.block import Block, make_block
from pipeline.text.tokenizer import Tokenizer

MAX_BLOCK_BYTES = 1 << 24  # huge events make smaller blocks


class SourceBlock(NamedTuple):
    """A block, the malformed events among it, and how many events were read up to its end.

    `began` is when its first event was there, by `time.perf_counter`.
    """

    block: Block
    dead_letters: list[DeadLetter]
    events: int
    began: float


class BlockReader:
    """Reads a source as blocks of at most `block` events, `limit` events in all (0: no limit)."""

    def __init__(
        self,
        source: Source,
        tokenizer: Tokenizer,
        block: int,
        limit: int = 0,
        max_event_bytes: int = MAX_EVENT_BYTES,
        decode: Decoder = parse_event,
    ) -> None:
        self._source = source
        self._tokenizer = tokenizer
        self._block = block
        self._limit = limit
        self._max_event_bytes = max_event_bytes
        self._decode = decode
        self._events = 0
        self._began = 0.0
        self._waiting: list[Event] = []
        self._dead: list[DeadLetter] = []

    def __iter__(self) -> Iterator[SourceBlock]:
        size = 0
        lines = numbered(self._source)
        while True:
            try:
                line, raw = next(lines, (0, None))
            except SourceError:
                if self._waiting or self._dead:
                    yield self._next_block()  # what came before the damage counts
                raise
            if raw:  # not empty, which says that nothing more is there for now
                if not size:
                    self._began = time.perf_counter()
                size += len(raw)
                self._take(line, raw)
            done = raw is None or (self._limit and self._events >= self._limit)
            held = len(self._waiting) + len(self._dead)
            full = held >= self._block or size >= MAX_BLOCK_BYTES
            if held and (done or full or not raw):
                yield self._next_block()
                size = 0
            if done:
                return

    def _take(self, line: int, raw: bytes) -> None:
        """Decode a line that is not blank; what cannot be used is put aside."""
        event = raw.rstrip(b"\r\n")
        if not event.strip():
            return
        self._events += 1
        try:
            self._waiting.append(self._decode(event, self._max_event_bytes))
        except MalformedEvent as problem:
            self._dead.append(DeadLetter(raw, line, problem))

    def _next_block(self) -> SourceBlock:
        block = make_block(self._waiting, self._tokenizer)
        reading = SourceBlock(block, self._dead, self._events, self._began)
        self._waiting, self._dead = [], []
        return reading
