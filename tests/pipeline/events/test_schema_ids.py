"""Values with the id of a schema, and plain text, as the decoders of a stream read them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from pipeline.errors import UsageError
from pipeline.events.avro_schema import compile_schema
from pipeline.events.event import MAX_EVENT_BYTES, Event, MalformedEvent
from pipeline.events.fields import parse_fields
from pipeline.events.formats import check_format, mapping_for, new_decoder
from pipeline.events.record import Record
from pipeline.events.schema_ids import RegisteredSchema

NULLABLE = ("title", "text", "editor")
SCHEMA = {
    "type": "record", "name": "E", "fields": [
        {"name": "id", "type": "long"},
        *({"name": name, "type": ["null", "string"]} for name in NULLABLE),
        {"name": "topics", "type": {"type": "array", "items": "string"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "raw", "type": "bytes"},
    ],
}  # fmt: skip
SCHEMAS = {
    1: RegisteredSchema("AVRO", compile_schema(orjson.dumps(SCHEMA))),
    2: RegisteredSchema("JSON"),
    3: RegisteredSchema("PROTOBUF"),
    4: RegisteredSchema("AVRO", compile_schema('"string"')),
}
ARTICLE = bytes([14, 2, 4]) + b"Up" + bytes([0, 0, 2, 10]) + b"grain\0" + b"\xc4\x13" + b"\x02\xff"


def decoded(format_: str, value: bytes | None, fields: dict[str, Any] | None = None) -> Event:
    mapping = None if fields is None else parse_fields(fields)
    record = Record(value, b"k7", 5, [("topics", b"a; b")], "wire", 2, 17)
    return new_decoder(format_, mapping, SCHEMAS.__getitem__)(record, MAX_EVENT_BYTES)


def refused(format_: str, value: bytes | None, fields: dict[str, Any] | None = None) -> str:
    with pytest.raises(MalformedEvent) as caught:
        decoded(format_, value, fields)
    return f"{caught.value.reason}: {caught.value.detail}"


def framed(id_: int, value: bytes) -> bytes:
    return b"\0" + id_.to_bytes(4, "big") + value


def test_avro_with_native_names() -> None:
    expected = Event(7, "Up", ("grain",), None, None, title_length=2)
    assert decoded("avro", framed(1, ARTICLE)) == expected


@pytest.mark.parametrize("time", ["at", {"path": "at", "format": "milliseconds"}])
def test_a_time_with_a_unit_needs_no_format(time: object) -> None:
    event = decoded("avro", framed(1, ARTICLE), {"time": time})
    assert event.time == "1970-01-01T00:00:01.25Z"
    assert type(event.time) is str


def test_bytes_that_are_no_text_are_refused_where_they_are_used() -> None:
    assert "found bytes that are not UTF-8" in refused("avro", framed(1, ARTICLE), {"text": "raw"})


def test_a_late_label_has_null_in_the_other_fields() -> None:
    label = bytes([14, 0, 0, 0, 2, 10]) + b"grain\0" + b"\0\0"
    assert refused("avro", framed(1, label)).startswith("unknown_fields: event '7' has labels")
    ignore = {"ignore": ["at", "raw"]}
    assert decoded("avro", framed(1, label), ignore) == Event(7, None, ("grain",), None, None)
    edited = bytes([14, 0, 0, 2, 2]) + b"x" + b"\x02\x0agrain\0" + b"\0\0"
    assert "unknown keys: `editor`" in refused("avro", framed(1, edited), ignore)


def test_json_schema() -> None:
    value = framed(2, b'{"id": 7, "text": "Up"}')
    assert decoded("json-schema", value) == Event(7, "Up", None, None, None)
    event = decoded("json-schema", framed(2, b'{"a": {"b": "Up"}}'), {"id": "@key", "text": "a.b"})
    assert event == Event("k7", "Up", None, None, None)


@pytest.mark.parametrize(
    ("format_", "value", "message"),
    [
        ("avro", b"", "no_schema_id: avro values begin with a zero"),
        ("avro", b"\0\0\0\1", "no_schema_id: avro values begin with a zero"),
        ("avro", b' {"id": 1}', 'this one is plain JSON: write format = "wirerank"'),
        ("avro", b"Wheat prices rose", 'It looks like plain text: write format = "text"'),
        ("avro", b"Obj\x01\x04", "It looks like an Avro file"),
        ("avro", b"\xc3\x01\1\2\3\4\5\6\7\x08", "single-object encoding"),
        ("avro", framed(2, b"{}"), 'type JSON, not avro: write format = "json-schema"'),
        ("json-schema", framed(1, b""), 'type AVRO, not json-schema: write format = "avro"'),
        ("avro", framed(3, b""), "bad_schema: schema 3 is of the type PROTOBUF, which is not"),
        ("avro", framed(4, b"\x02a"), "not_an_object: schema 4 must be that of a record"),
        ("avro", framed(1, ARTICLE[:9]), "not_avro: the value does not fit"),
        ("avro", b"\0" * (MAX_EVENT_BYTES + 1), "too_large"),
        ("json-schema", framed(2, b"{"), "not_json"),
        ("json-schema", framed(2, b"[1]"), "not_an_object"),
        ("avro", None, "tombstone"),
        ("text", b"\xff", "not_text: the text is not UTF-8: byte 0 is 0xff"),
        ("text", b" " * (MAX_EVENT_BYTES + 1), "too_large"),
        ("text", None, "tombstone"),
    ],
)
def test_refused_values(format_: str, value: bytes | None, message: str) -> None:
    assert message in refused(format_, value)


def test_text() -> None:
    assert decoded("text", b"Wheat up") == Event("wire-2-17", "Wheat up", None, None, None)
    fields = {
        "id": "@key", "time": "@timestamp",
        "topics": {"path": "@header.topics", "separator": ";"},
    }  # fmt: skip
    expected = Event("k7", "Wheat up", ("a", "b"), None, "1970-01-01T00:00:00.005Z")
    assert decoded("text", b"Wheat up", fields) == expected
    marked_up = decoded("text", b"<p>Up", {"text": {"path": "text", "html": True}})
    assert str(marked_up.content).strip() == "Up"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"title": "headline"}, "fields.title: a text has no key 'headline'"),
        ({"unwrap": "payload"}, "a text has no envelope"),
    ],
)
def test_a_text_has_no_other_keys(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        mapping_for("text", fields)


def test_formats_that_are_refused() -> None:
    for format_ in ("avro", "json-schema"):
        check_format(format_, kafka=True)
        with pytest.raises(UsageError, match="need a Schema Registry"):
            check_format(format_, "--format")
    with pytest.raises(UsageError, match="Protobuf is not supported"):
        check_format("protobuf", kafka=True)
    with pytest.raises(UsageError, match=r"text, csv:columns=\.\.\., avro, json-schema"):
        check_format("avor", kafka=True)
    with pytest.raises(UsageError, match="formats with fields"):
        mapping_for("ninjs", {"id": "x"})


def test_a_key_with_the_id_of_a_schema_is_no_id() -> None:
    decode = new_decoder("text", parse_fields({"id": "@key"}))
    with pytest.raises(MalformedEvent, match="read a field of the value"):
        decode(Record(b"Wheat up", b"\0\0\0\0\x07\x06abc"), 1000)
