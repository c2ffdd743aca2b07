"""A sample of a file or corpus: its first events."""

from __future__ import annotations

from functools import partial

from pipeline.checking.sample import Sample
from pipeline.corpora import Source
from pipeline.corpora.source import RefusedEvent, numbered
from pipeline.events.event import Event, MalformedEvent
from pipeline.events.formats import Decoder
from pipeline.events.record import Record


def add_source(sample: Sample, source: Source, decode: Decoder, most: int, size: int) -> None:
    """Add the first events of a source, of at most `size` bytes each."""
    for line, raw in numbered(source):
        value = raw.rstrip(b"\r\n")
        if not value.strip():
            continue
        record = Record(value, offset=line)
        if isinstance(raw, RefusedEvent):
            sample.add(record, partial(refuse, raw))
        else:
            sample.add(record, partial(decode, record, size))
        if sample.events >= most or sample.is_full:
            return


def refuse(raw: RefusedEvent) -> Event:
    """Refuse what a source has already refused, for its reason."""
    raise MalformedEvent(raw.refusal.reason, raw.refusal.detail)
