"""From raw events to blocks: decode, put the malformed aside, group what is good."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from pipeline.corpora.source import Source, SourceError, numbered
from pipeline.events.dead_letters import DeadLetter
from pipeline.events.event import MAX_EVENT_BYTES, Decoder, Event, MalformedEvent, parse_event
from pipeline.log.block import Block, make_block
from pipeline.text.tokenizer import Tokenizer

MAX_BLOCK_BYTES = 1 << 24  # huge events make smaller blocks

T = TypeVar("T")


class Reading(NamedTuple):
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

    def __iter__(self) -> Iterator[Reading]:
        size = 0
        lines = numbered(self._source)
        while True:
            try:
                line, raw = next(lines, (0, None))
            except SourceError:
                if self._waiting or self._dead:
                    yield self._reading()  # what came before the damage counts
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
                yield self._reading()
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

    def _reading(self) -> Reading:
        block = make_block(self._waiting, self._tokenizer)
        reading = Reading(block, self._dead, self._events, self._began)
        self._waiting, self._dead = [], []
        return reading


class Prefetched(Generic[T]):
    """Blocks made by a thread of their own, a few ahead, while earlier ones are being learned.

    Whoever iterates is never stuck waiting: `None` says that no block is ready yet.
    """

    def __init__(self, blocks: Iterable[T], ahead: int = 2, patience_s: float = 0.1) -> None:
        self._blocks = blocks
        self._patience_s = patience_s
        self._ready: queue.Queue[T | BaseException] = queue.Queue(ahead)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="reader", daemon=True)

    def _work(self) -> None:
        end: BaseException = StopIteration()
        try:
            for block in self._blocks:
                self._put(block)
                if self._stop.is_set():
                    return
        except BaseException as error:  # handed on, to be raised where the blocks are used
            end = error
        self._put(end)

    def _put(self, item: T | BaseException) -> None:
        while not self._stop.is_set():
            try:
                self._ready.put(item, timeout=self._patience_s)
            except queue.Full:
                continue
            return

    def __iter__(self) -> Iterator[T | None]:
        self._thread.start()
        while True:
            try:
                item = self._ready.get(timeout=self._patience_s)
            except queue.Empty:
                yield None
                continue
            if isinstance(item, StopIteration):
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    def close(self) -> None:
        """Make no more blocks. A thread that waits for input is left behind; it ends with us."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=2 * self._patience_s)
