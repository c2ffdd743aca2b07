"""The formats of incoming events, by the name that `--format` takes, and their decoders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.errors import UsageError
from pipeline.events.csv_row import CSV, csv_row_parser
from pipeline.events.event import Event, MalformedEvent, ValueParser, parse_event, parse_object
from pipeline.events.fields import FieldMapping, parse_fields
from pipeline.events.mapped_event import EventMapper
from pipeline.events.newsml_g2 import NewsmlG2Parser
from pipeline.events.ninjs import parse_ninjs
from pipeline.events.record import Record
from pipeline.events.schema_ids import AVRO, JSON_SCHEMA, ObjectParser, SchemaLookup, object_parser

Decoder = Callable[[Record, int], Event]  # takes a record and the maximum of its bytes

NATIVE, NEWSML_G2, TEXT = "wirerank", "newsml-g2", "text"

# From the value of a record to an event whose fields have a fixed place.
FORMATS: dict[str, ValueParser] = {
    NATIVE: parse_event,
    "ninjs": parse_ninjs,
    NEWSML_G2: NewsmlG2Parser(),
}
FILE_FORMATS = (*FORMATS, TEXT)
REGISTRY_FORMATS = (AVRO, JSON_SCHEMA)  # on Kafka only, with a Schema Registry
STREAM_FORMATS = (*FILE_FORMATS, f"{CSV}:columns=...", *REGISTRY_FORMATS)
MAPPED_FORMATS = (NATIVE, TEXT, CSV, *REGISTRY_FORMATS)  # those whose fields a mapping finds
# What a mapping reads if the settings do not say it.
DEFAULT_FIELDS: dict[str, dict[str, Any]] = {
    TEXT: {"id": "@origin"},
    CSV: {"topics": {"path": "topics", "separator": ";"}},
    AVRO: {},
    JSON_SCHEMA: {},
}


def parse_text(raw: bytes, max_event_bytes: int) -> dict[str, Any]:
    """Parse a value that is nothing but text."""
    if len(raw) > max_event_bytes:
        raise MalformedEvent("too_large", f"the event has more than {max_event_bytes:,} bytes")
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError as error:
        raise MalformedEvent(
            "not_text",
            f"the text is not UTF-8: byte {error.start:,} is {raw[error.start]:#04x}; have the "
            "producer write UTF-8",
        ) from None


# From the value of a record to an object whose fields a mapping finds.
OBJECT_PARSERS: dict[str, ObjectParser] = {NATIVE: parse_object, TEXT: parse_text}


def base_name(format_: str) -> str:
    """Return the name of a format without its options."""
    return format_.partition(":")[0]


def check_format(format_: str, setting: str = "format", kafka: bool = False) -> None:
    """Refuse a format that does not exist; `setting` is for messages."""
    if format_ in REGISTRY_FORMATS:
        if not kafka:
            raise UsageError(
                f"{setting} {format_}: such values need a Schema Registry, so they are read from "
                "Kafka only; a configuration sets format and [registry] url."
            )
    elif base_name(format_) == CSV:
        if not kafka:
            raise UsageError(
                f"{setting} csv is for rows in Kafka records. A file with a header is the source "
                "csv:PATH, without a format."
            )
        csv_row_parser(format_, setting)
    elif format_ == "protobuf":
        raise UsageError(
            f"{setting}: Protobuf is not supported; have the producer write Avro, JSON Schema or "
            "JSON, or convert the topic with a stream processor."
        )
    elif format_ != TEXT:
        format_parser(format_, setting, STREAM_FORMATS if kafka else FILE_FORMATS)


def format_parser(
    format_: str, setting: str = "format", known: tuple[str, ...] = FILE_FORMATS
) -> ValueParser:
    """Return the parser of a format with fixed fields; `setting` and `known` are for messages.

    A format may have options, such as `newsml-g2:schemes=medtop+subj,types=cpnat:abstract`.
    """
    name, colon, options = format_.partition(":")
    if name not in FORMATS or (colon and name != NEWSML_G2):
        raise UsageError(f"{setting} must be one of {', '.join(known)}. Got {format_[:200]!r}.")
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


def mapping_for(format_: str, given: Mapping[str, Any] | None) -> FieldMapping | None:
    """Return the mapping of a format with these settings; None: its fields have fixed places."""
    defaults = DEFAULT_FIELDS.get(base_name(format_))
    if given is None and defaults is None:
        return None
    mapping = parse_fields({**(defaults or {}), **(given or {})})
    check_mapping(format_, mapping)
    return mapping


def new_decoder(
    format_: str, mapping: FieldMapping | None = None, schemas: SchemaLookup | None = None
) -> Decoder:
    """Return the decoder of a format, with a field mapping or without.

    `schemas` finds the schemas of formats that need a registry.

    >>> event = new_decoder("text")(Record(b"Wheat up", topic="wire", offset=17), 1000)
    >>> event.id, event.content
    ('wire-0-17', 'Wheat up')
    """
    if base_name(format_) in DEFAULT_FIELDS:
        mapping = mapping_for(format_, None if mapping is None else mapping.settings)
    if mapping is None:
        return parsed_by(format_parser(format_))
    check_mapping(format_, mapping)
    if base_name(format_) == CSV:
        return mapped_by(csv_row_parser(format_), EventMapper(mapping))
    if format_ not in REGISTRY_FORMATS:
        return mapped_by(OBJECT_PARSERS[format_], EventMapper(mapping))
    if schemas is None:
        check_format(format_)
        raise AssertionError(f"{format_} needs schemas")
    return mapped_by(object_parser(format_, schemas), EventMapper(mapping))


def check_mapping(format_: str, mapping: FieldMapping | None = None) -> None:
    """Refuse a field mapping for a format that has fixed fields, or for one that has none."""
    if base_name(format_) not in MAPPED_FORMATS:
        raise UsageError(
            f"fields: the format {format_} says where each field is; leave out `fields`, or the "
            f"format (formats with fields: {', '.join(MAPPED_FORMATS)})"
        )
    if format_ != TEXT or mapping is None:
        return
    if mapping.unwrap is not None:
        raise UsageError("fields.unwrap: a text has no envelope; leave it out")
    for name, sources in mapping.sources.items():
        for source in sources:
            path = source.path.text
            if not source.path.source and path not in (TEXT, name):
                raise UsageError(
                    f'fields.{name}: a text has no key {path!r}; write "text" for the whole text, '
                    'or what comes with a record, such as "@key" or "@header.NAME"'
                )


def parsed_by(parse: ValueParser) -> Decoder:
    """Return a decoder that needs nothing but the value."""

    def decode(record: Record, max_event_bytes: int) -> Event:
        value = record.value
        return parse(refuse_tombstone() if value is None else value, max_event_bytes)

    return decode


def mapped_by(parse: ObjectParser, mapper: EventMapper) -> Decoder:
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
