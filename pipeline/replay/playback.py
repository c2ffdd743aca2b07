"""Playing a source into a Kafka topic: the settings, the result, and the batches of events.

This package does not use Kafka. `consumers.player` does the playing, as a `KafkaPlayer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.corpora.source import Source, SourceError, numbered
from pipeline.events.event import MAX_EVENT_BYTES
from pipeline.events.fields import FieldMapping
from pipeline.replay.progress import Progress

BATCH_EVENTS = 500
BATCH_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class PlaybackSettings:
    """Which source to play, into which Kafka topic, and how fast."""

    source: str
    bootstrap: str
    topic: str
    speed: float | None = None  # 60 plays an hour in a minute; None plays as fast as possible
    until_ranked: bool = False
    pass_number: int = 1  # number of this pass over the source, from 1
    limit: int = 0
    format: str = "wirerank"
    fields: FieldMapping | None = None
    max_event_bytes: int = MAX_EVENT_BYTES


@dataclass(frozen=True, slots=True)
class PlaybackResult:
    """How playing ended: successfully, by a signal, or by a failure."""

    written: int
    already_there: int  # events that an earlier run had written to the topic
    interrupted: int | None = None  # the signal that stopped it
    failure: str | None = None  # a message for the user


KafkaPlayer = Callable[[PlaybackSettings, Progress], PlaybackResult]


def event_batches(source: Source, limit: int) -> Iterator[list[bytes]]:
    """Read the events of a source in batches; events are unchanged, blank lines are skipped.

    A batch ends early where the source has no more events yet, so that these events are played at
    once. If the source is damaged, the events before the damage are played before the error.
    """
    batch: list[bytes] = []
    size = events = 0
    lines = numbered(source)
    while not limit or events < limit:
        try:
            _, raw = next(lines, (0, None))
        except SourceError:
            if batch:
                yield batch
            raise
        if raw is None:
            break
        event = raw.rstrip(b"\r\n")
        if event.strip():
            batch.append(event)
            events += 1
            size += len(event)
        if batch and (not raw or len(batch) >= BATCH_EVENTS or size >= BATCH_BYTES):
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
