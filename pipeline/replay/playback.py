"""Playing a source into a topic: what can be asked for, and how it ends.

Who does it is no matter of this package, which knows no Kafka: `consumers.cli` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.corpora.source import Source, SourceError, numbered
from pipeline.events.event import MAX_EVENT_BYTES
from pipeline.replay.watch import Watch

CHUNK_EVENTS = 500
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class PlaySettings:
    """What to play, to where, and how fast."""

    source: str
    bootstrap: str
    topic: str
    speed: float | None = None  # times as fast as it happened; None: as fast as it goes
    until_ranked: bool = False
    times: int = 1  # the how-manieth time the source is played
    limit: int = 0
    format: str = "wirerank"
    max_event_bytes: int = MAX_EVENT_BYTES


@dataclass(frozen=True, slots=True)
class Played:
    """How playing ended: well, or by a signal, or by something that a person should know."""

    written: int
    there: int  # events that were in the topic already
    interrupted: int | None = None  # by which signal
    failure: str | None = None


Player = Callable[[PlaySettings, Watch], Played]


def chunks(source: Source, limit: int) -> Iterator[list[bytes]]:
    """The events of a source as they are, without line ends and blank lines, some at a time.

    A chunk ends where the source falls silent, so that what came is played at once. What comes
    before a damage is handed on before the error.
    """
    chunk: list[bytes] = []
    size = events = 0
    lines = numbered(source)
    while not limit or events < limit:
        try:
            _, raw = next(lines, (0, None))
        except SourceError:
            if chunk:
                yield chunk
            raise
        if raw is None:
            break
        event = raw.rstrip(b"\r\n")
        if event.strip():
            chunk.append(event)
            events += 1
            size += len(event)
        if chunk and (not raw or len(chunk) >= CHUNK_EVENTS or size >= CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
