"""Values with the id of a schema in front: a zero, four bytes with the id, then the value.

This is the wire format of the Confluent Schema Registry and of all that are compatible with it.
What the schema of an id is, a function says that the Kafka side gives (`SchemaLookup`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from pipeline.events.avro import Reader, read_datum
from pipeline.events.event import MalformedEvent, parse_object
from pipeline.events.json_types import json_type
from pipeline.events.sniffing import sniff

PREFIX_BYTES = 5
AVRO, JSON_SCHEMA = "avro", "json-schema"  # names of formats
# The name of a format, by the type of the schema in the registry.
FORMAT_OF_TYPE = {"AVRO": AVRO, "JSON": JSON_SCHEMA}
SINGLE_OBJECT = b"\xc3\x01"
MAX_SHOWN_TYPE = 40


class RegisteredSchema(NamedTuple):
    """A schema of a registry: its type, and what reads its values if it is Avro."""

    type: str
    read: Reader | None = None


# Takes the id of a schema. Raises `MalformedEvent` if there is no such schema, or none to be used.
SchemaLookup = Callable[[int], RegisteredSchema]
ObjectParser = Callable[[bytes, int], dict[str, Any]]


def schema_id(value: bytes | None) -> int | None:
    """Return the id of the schema of a value; None if the value has none.

    >>> schema_id(bytes([0, 0, 0, 1, 4, 14])), schema_id(b"{}")
    (260, None)
    """
    if value is None or len(value) < PREFIX_BYTES or value[0] != 0:
        return None
    return int.from_bytes(value[1:PREFIX_BYTES], "big")


def object_parser(format_: str, schemas: SchemaLookup) -> ObjectParser:
    """Return the parser of a format whose values have the id of a schema in front."""

    def parse(value: bytes, max_event_bytes: int) -> dict[str, Any]:
        if len(value) > max_event_bytes:
            raise MalformedEvent("too_large", f"the event has more than {max_event_bytes:,} bytes")
        id_ = schema_id(value)
        if id_ is None:
            refuse_value(value, format_)
        schema = schemas(id_)
        if FORMAT_OF_TYPE.get(schema.type) != format_:
            refuse_type(id_, schema.type, format_)
        if schema.read is None:
            return parse_object(value[PREFIX_BYTES:], max_event_bytes)
        found = read_datum(schema.read, value, PREFIX_BYTES, max_event_bytes)
        if not isinstance(found, dict):
            raise MalformedEvent(
                "not_an_object", f"schema {id_} must be that of a record, found {json_type(found)}"
            )
        return found

    return parse


def refuse_value(value: bytes, format_: str) -> NoReturn:
    """Refuse a value without the id of a schema, and say what the value looks like."""
    detail = f"{format_} values begin with a zero and the id of a schema (4 bytes)"
    if value.lstrip()[:1] == b"{":
        hint = 'this one is plain JSON: write format = "wirerank"'
    elif value.startswith(SINGLE_OBJECT):
        hint = (
            "this one is Avro in the single-object encoding, which is not supported: have the "
            "producer write it with a serializer of the Schema Registry"
        )
    else:
        sniffed = sniff(value)
        found = f"this one has {len(value):,} bytes and begins with {value[:8].hex(' ') or '?'}"
        hint = sniffed.sentence(kafka=True).rstrip(".") if sniffed else found
    raise MalformedEvent("no_schema_id", f"{detail}; {hint}")


def refuse_type(id_: int, type_: str, format_: str) -> NoReturn:
    """Refuse a value whose schema is of another type than the format says."""
    known = FORMAT_OF_TYPE.get(type_)
    what = f"schema {id_} is of the type {type_[:MAX_SHOWN_TYPE]}"
    if known is None:
        raise MalformedEvent(
            "bad_schema",
            f"{what}, which is not supported: have the producer write Avro, JSON Schema or JSON",
        )
    raise MalformedEvent("bad_schema", f'{what}, not {format_}: write format = "{known}"')
