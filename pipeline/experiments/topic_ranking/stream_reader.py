"""A corpus that is too large for memory: read in blocks from its beginning, as often as needed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pipeline.corpora import Source, SourceError
from pipeline.experiments.experiment import Say
from pipeline.log.block import Block
from pipeline.log.block_reader import BlockReader
from pipeline.log.prefetcher import Prefetcher
from pipeline.text.tokenizer import Tokenizer

BLOCK = 1024
REPORT_EVERY_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Events:
    """A part of the events of a source, which can be read once."""

    events: Iterator[bytes]
    topics: Sequence[str] = ()
    total: int | None = None

    def __iter__(self) -> Iterator[bytes]:
        return self.events


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents in order of time: the first `trained` ones train, the others test."""

    source: Source
    trained: int
    total: int
    profile: str
    say: Say

    def training(self, doing: str) -> Iterator[Block]:
        """The blocks of the training documents."""
        yield from self._blocks(iter(self.source), 0, self.trained, doing)

    def both(self, training: str, testing: str) -> tuple[Iterator[Block], Iterator[Block]]:
        """The blocks of both parts from one reading; the first must be read before the second."""
        events = iter(self.source)
        return (
            self._blocks(events, 0, self.trained, training),
            self._blocks(events, self.trained, self.total, testing),
        )

    def _blocks(
        self, events: Iterator[bytes], start: int, stop: int, doing: str
    ) -> Iterator[Block]:
        """The blocks of some events, prefetched by a thread; reports progress now and then."""
        some = Events(islice(events, stop - start))
        readings = Prefetcher(BlockReader(some, Tokenizer(self.profile), BLOCK))
        began = reported = time.perf_counter()
        try:
            for reading in readings:
                if reading is None:
                    continue
                for letter in reading.dead_letters:
                    raise SourceError(
                        f"document {start + letter.line:,} cannot be used: {letter.refusal.detail}"
                    )
                yield reading.block
                now = time.perf_counter()
                if now - reported > REPORT_EVERY_SECONDS or reading.events == stop - start:
                    reported = now
                    speed = reading.events / (now - began)
                    done = f"{reading.events:,} of {stop - start:,} documents"
                    self.say(f"{doing}: {done}, {speed:,.0f} per second")
        finally:
            readings.close()
