"""What every corpus looks like to the engine: an iterator of raw document events."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


class SourceError(Exception):
    """A source cannot be opened or read on; the message says what to do about it."""


@dataclass(frozen=True, slots=True)
class SourceSize:
    """How many topics and terms a source of many classes has at most, or about."""

    topics: int
    terms: int


class Source(Protocol):
    """A finite or endless run of document events, each the bytes of one JSON object.

    Every corpus is turned into the events of the contract, so that a replay passes through the
    same decoder as a live stream and can be written to a topic as it is.
    """

    @property
    def topics(self) -> Sequence[str]:
        """The corpus's own list of topics, in its order; empty if topics are to be discovered."""

    @property
    def total(self) -> int | None:
        """How many events there will be, if that is known before reading them."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield raw events, one after another, from the beginning."""


def numbered(source: Source) -> Iterator[tuple[int, bytes]]:
    """The lines of a source from 1 on, a byte order mark taken off the first.

    An empty line, which says that nothing more is there for now, does not count.
    """
    line = 0
    for raw in source:
        line += bool(raw)
        yield line, raw.removeprefix(codecs.BOM_UTF8) if line == 1 else raw
