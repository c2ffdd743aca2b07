"""The formats of incoming events, by the name that `--format` takes, and their decoders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pipeline.errors import UsageError
from pipeline.events.event import Event, MalformedEvent, ValueParser, parse_event, parse_object
from pipeline.events.fields import FieldMapping
from pipeline.events.mapped_event import EventMapper
from pipeline.events.newsml_g2 import NewsmlG2Parser
from pipeline.events.ninjs import parse_ninjs
from pipeline.events.record import Record

Decoder = Callable[[Record, int], Event]  # takes a record and the maximum of its bytes

NEWSML_G2 = "newsml-g2"

# From the value of a record to an event whose fields have a fixed place.
FORMATS: dict[str, ValueParser] = {
    "wirerank": parse_event,
    "ninjs": parse_ninjs,
    NEWSML_G2: NewsmlG2Parser(),
}
# From the value of a record to an object whose fields a mapping finds.
OBJECT_PARSERS: dict[str, Callable[[bytes, int], dict[str, Any]]] = {"wirerank": parse_object}


def format_parser(format_: str, setting: str = "format") -> ValueParser:
    """Return the parser of a format; `setting` is for messages.

    A format may have options, such as `newsml-g2:schemes=medtop+subj,types=cpnat:abstract`.
    """
    name, colon, options = format_.partition(":")
    if name not in FORMATS or (colon and name != NEWSML_G2):
        raise UsageError(f"{setting} must be one of {', '.join(FORMATS)}. Got {format_[:200]!r}.")
    if not colon:
        return FORMATS[name]
    given: dict[str, tuple[str, ...]] = {}
    for option in options.split(","):
        key, _, value = option.partition("=")
        names = tuple(filter(None, value.split("+")))
        if key not in ("schemes", "types") or key in given or not names:
            raise UsageError(
                f"{setting}: {format_[:200]!r} has an option that is not known, repeated or empty; "
                f"write for instance {NEWSML_G2}:schemes=medtop+subj,types=cpnat:abstract."
            )
        given[key] = names
    return NewsmlG2Parser(**given)


def new_decoder(format_: str, mapping: FieldMapping | None = None) -> Decoder:
    """Return the decoder of a format, with a field mapping or without."""
    if mapping is None:
        return parsed_by(format_parser(format_))
    check_mapping(format_)
    return mapped_by(OBJECT_PARSERS[format_], EventMapper(mapping))


def check_mapping(format_: str) -> None:
    """Refuse a field mapping for a format that has fixed fields."""
    if format_ not in OBJECT_PARSERS:
        raise UsageError(
            f"fields: the format {format_} says where each field is; leave out `fields`, or the "
            f"format (formats with fields: {', '.join(OBJECT_PARSERS)})"
        )


def parsed_by(parse: ValueParser) -> Decoder:
    """Return a decoder that needs nothing but the value."""

    def decode(record: Record, max_event_bytes: int) -> Event:
        value = record.value
        return parse(refuse_tombstone() if value is None else value, max_event_bytes)

    return decode


def mapped_by(parse: Callable[[bytes, int], dict[str, Any]], mapper: EventMapper) -> Decoder:
    """Return a decoder that maps the fields of an object."""

    def decode(record: Record, max_event_bytes: int) -> Event:
        value = record.value
        found = parse(refuse_tombstone() if value is None else value, max_event_bytes)
        return mapper(found, record, max_event_bytes)

    return decode


def refuse_tombstone() -> bytes:
    """Refuse a record without a value."""
    raise MalformedEvent(
        "tombstone", "the record has no value (a tombstone): it deletes what has its key"
    )
