"""The interface of every corpus: an iterator of raw document events."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.events.event import Refusal


class SourceError(Exception):
    """A source cannot be opened, or its reading failed; the message says what to do."""


class RefusedEvent(bytes):
    """A part of a source that is no event, as it is in the source, and why it is none.

    In a replay it is a dead letter with this reason. Where it is written to Kafka as it is, the
    decoder refuses it again, because it is not JSON.
    """

    refusal: Refusal

    def __new__(cls, raw: bytes, refusal: Refusal) -> RefusedEvent:
        """Return the bytes with the refusal as an attribute."""
        refused = super().__new__(cls, raw)
        refused.refusal = refusal
        return refused


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
        marked = line == 1 and raw.startswith(codecs.BOM_UTF8)
        yield line, raw.removeprefix(codecs.BOM_UTF8) if marked else raw


def valid_text(name: str) -> str:
    """The name of a file as text that JSON can carry. Bytes that are not UTF-8 are written out."""
    return name.encode("utf-8", "backslashreplace").decode()
