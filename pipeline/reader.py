"""From raw events to blocks: decode, put the malformed aside, group what is good."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.blocks import Block, make_block
from pipeline.corpora.source import Source
from pipeline.dead_letters import DeadLetterFile
from pipeline.events import Event, MalformedEvent, parse_event
from pipeline.tokenizer import Tokenizer


class BlockReader:
    """Reads a source as blocks of at most `block` events, `limit` events in all (0: no limit)."""

    def __init__(
        self,
        source: Source,
        tokenizer: Tokenizer,
        dead_letters: DeadLetterFile,
        block: int,
        limit: int = 0,
    ) -> None:
        self._source = source
        self._tokenizer = tokenizer
        self._dead_letters = dead_letters
        self._block = block
        self._limit = limit
        self.events = 0

    def __iter__(self) -> Iterator[Block]:
        waiting: list[Event] = []
        for line, raw in enumerate(self._source, start=1):
            if not raw.strip():
                if raw or not waiting:
                    continue  # a blank line; an empty one says that nothing more is there for now
            else:
                self.events += 1
                try:
                    waiting.append(parse_event(raw))
                except MalformedEvent as problem:
                    self._dead_letters.add(raw, line, problem)
            at_limit = self._limit and self.events >= self._limit
            if waiting and (len(waiting) >= self._block or not raw or at_limit):
                yield make_block(waiting, self._tokenizer)
                waiting = []
            if at_limit:
                return
        if waiting:
            yield make_block(waiting, self._tokenizer)
