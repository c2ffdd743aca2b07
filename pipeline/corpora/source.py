"""The interface of every corpus: an iterator of raw document events."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


class SourceError(Exception):
    """A source cannot be opened, or its reading failed; the message says what to do."""


@dataclass(frozen=True, slots=True)
class SourceSize:
    """The number of topics and terms of a source with many classes, exactly or approximately."""

    topics: int
    terms: int


class Source(Protocol):
    """A finite or endless sequence of document events, each the bytes of one JSON object.

    Every corpus is converted to document events. So a replay uses the same decoder as a live
    stream, and the events can be written to a Kafka topic unchanged.
    """

    @property
    def topics(self) -> Sequence[str]:
        """The corpus's own list of topics, in its order; empty if topics are discovered."""

    @property
    def total(self) -> int | None:
        """The number of events, if it is known before reading them."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield raw events, one after another, from the beginning."""


def numbered(source: Source) -> Iterator[tuple[int, bytes]]:
    """The lines of a source, numbered from 1, without a byte order mark in the first one.

    An empty line signals a pause of the source and is not counted.
    """
    line = 0
    for raw in source:
        line += bool(raw)
        yield line, raw.removeprefix(codecs.BOM_UTF8) if line == 1 else raw


def valid_text(name: str) -> str:
    """The name of a file as text that JSON can carry. Bytes that are not UTF-8 are written out."""
    return name.encode("utf-8", "backslashreplace").decode()
