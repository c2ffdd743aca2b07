"""Values that another library writes are read; what it would never write is refused at once."""

from __future__ import annotations

import datetime
import decimal
import io
import uuid
from typing import Any

import fastavro
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.events.avro import MAX_DEPTH, read_datum
from pipeline.events.avro_schema import MAX_PARTS, SchemaError, compile_schema
from pipeline.events.event import MAX_EVENT_BYTES, MalformedEvent

ARTICLE: dict[str, Any] = {
    "type": "record", "name": "Article", "namespace": "wire",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "headline", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": {"type": "array", "items": {
            "type": "record", "name": "Tag", "fields": [
                {"name": "slug", "type": "string"},
                {"name": "weight", "type": ["null", "double", "int"]},
                {"name": "broader", "type": ["null", "Tag"]},
            ]}}},
        {"name": "desk", "type": {"type": "enum", "name": "Desk", "symbols": ["A", "B"]}},
        {"name": "counts", "type": {"type": "map", "values": ["int", "wire.Tag"]}},
        {"name": "flags", "type": {"type": "array", "items": ["null", "boolean"]}},
        {"name": "ratio", "type": "float"},
        {"name": "again", "type": ["null", "wire.Desk"]},
    ],
}  # fmt: skip


def written(schema: object, value: object) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)  # type: ignore[arg-type]
    return out.getvalue()


def read(schema: object, data: bytes, most: int = MAX_EVENT_BYTES) -> Any:  # noqa: ANN401
    return read_datum(compile_schema(orjson.dumps(schema)), data, 0, most)


def refused(schema: object, data: bytes) -> str:
    with pytest.raises(MalformedEvent) as caught:
        read(schema, data)
    assert caught.value.reason == "not_avro"
    return caught.value.detail


def number(value: int) -> bytes:
    """A number as Avro writes it."""
    return written("long", value)


tags: st.SearchStrategy[dict[str, Any]] = st.deferred(
    lambda: st.fixed_dictionaries({
        "slug": st.text(),
        "weight": st.none() | st.floats(allow_nan=False) | st.integers(-(2**31), 2**31 - 1),
        "broader": st.none() | tags,
    })
)  # fmt: skip
articles = st.fixed_dictionaries({
    "id": st.integers(-(2**63), 2**63 - 1),
    "headline": st.none() | st.text(),
    "tags": st.lists(tags, max_size=3),
    "desk": st.sampled_from("AB"),
    "counts": st.dictionaries(st.text(), st.integers(-(2**31), 2**31 - 1) | tags, max_size=3),
    "flags": st.lists(st.none() | st.booleans()),
    "ratio": st.floats(width=32, allow_nan=False),
    "again": st.none() | st.sampled_from("AB"),
})  # fmt: skip


@given(articles)
@settings(deadline=None)
def test_what_another_library_writes(article: dict[str, Any]) -> None:
    assert read(ARTICLE, written(ARTICLE, article)) == article


@given(st.binary(max_size=60))
@settings(deadline=None)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        value = read(ARTICLE, data)
    except MalformedEvent:
        assert "Avro schema" in refused(ARTICLE, data)
    else:
        assert set(value) == {field["name"] for field in ARTICLE["fields"]}


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_value_that_ends_in_the_middle(cut: int) -> None:
    article = {
        "id": 7, "headline": "Wheat", "tags": [], "desk": "A", "counts": {"a": 1},
        "flags": [True, None], "ratio": 0.5, "again": "B",
    }  # fmt: skip
    whole = written(ARTICLE, article)
    detail = refused(ARTICLE, whole[: max(0, len(whole) - cut)])
    assert "ends in the middle" in detail or "is left" in detail
    assert f"{cut} bytes are left over after byte {len(whole)}" in refused(
        ARTICLE, whole + b"x" * cut
    )


MILLISECOND = datetime.datetime(1987, 2, 26, 15, 1, 1, 250_000, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "long", "logicalType": "timestamp-millis"}, MILLISECOND,
         "1987-02-26T15:01:01.25Z"),
        ({"type": "long", "logicalType": "timestamp-micros"},
         MILLISECOND.replace(microsecond=7), "1987-02-26T15:01:01.000007Z"),
        ({"type": "long", "logicalType": "timestamp-micros"},
         MILLISECOND.replace(year=1901, microsecond=0), "1901-02-26T15:01:01Z"),
        ({"type": "long", "logicalType": "timestamp-nanos"}, 541_350_061_000_000_000,
         "1987-02-26T15:01:01Z"),
        ({"type": "long", "logicalType": "local-timestamp-millis"},
         MILLISECOND.replace(tzinfo=None), "1987-02-26T15:01:01.25"),
        ({"type": "int", "logicalType": "date"}, datetime.date(1987, 2, 26), "1987-02-26"),
        ({"type": "string", "logicalType": "uuid"}, uuid.UUID(int=7),
         "00000000-0000-0000-0000-000000000007"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
         decimal.Decimal("-12.50"), -12.5),
        ({"type": "bytes", "logicalType": "decimal", "precision": 6}, decimal.Decimal(700), 700),
        ({"type": "bytes", "logicalType": "decimal", "precision": 30},
         decimal.Decimal(10**25), str(10**25)),
        ({"type": "fixed", "name": "F", "size": 3}, b"abc", "abc"),
        ("bytes", "Zürich".encode(), "Zürich"),
        ("bytes", b"\xff\xfe", b"\xff\xfe"),
        ({"type": "long", "logicalType": "made-up"}, 7, 7),
        ({"type": "long", "logicalType": "timestamp-millis"}, 2**62, 2**62),
        ({"type": "int", "logicalType": "date"}, 2**31 - 1, 2**31 - 1),
        ({"type": "string", "avro.java.string": "String"}, "a", "a"),
        (["null", "string"], None, None),
    ],
)  # fmt: skip
def test_types(schema: object, value: object, expected: object) -> None:
    assert read(schema, written(schema, value)) == expected


def test_a_list_of_nothing_does_not_cost_more_than_the_limit() -> None:
    for items in ("null", {"type": "fixed", "name": "F", "size": 0},
                  {"type": "record", "name": "R", "fields": []}):  # fmt: skip
        schema = {"type": "array", "items": items}
        assert "more values" in refused(schema, number(2**62) + number(0))
        assert "more values" in refused(schema, number(-(2**40)) + number(0) + number(0))
        assert len(read(schema, number(1000) + number(0))) == 1000


def test_many_small_blocks_share_one_limit() -> None:
    schema = {"type": "array", "items": "null"}
    blocks = number(300_000) * 4
    assert "more values" in refused(schema, blocks + number(0))


def test_a_record_that_contains_itself() -> None:
    schema = {
        "type": "record",
        "name": "N",
        "fields": [{"name": "next", "type": ["null", "N"]}],
    }
    assert f"nested more than {MAX_DEPTH} deep" in refused(schema, number(1) * 1_000_000)
    endless = {"type": "record", "name": "N", "fields": [{"name": "next", "type": "N"}]}
    assert f"nested more than {MAX_DEPTH} deep" in refused(endless, b"")


def test_records_that_double_at_each_level() -> None:
    schema: object = {"type": "record", "name": "L0", "fields": []}
    for level in range(1, 40):
        fields = [{"name": "a", "type": schema}, {"name": "b", "type": f"L{level - 1}"}]
        schema = {"type": "record", "name": f"L{level}", "fields": fields}
    assert "more values" in refused(schema, b"")


def test_a_wide_record_in_a_long_list() -> None:
    fields = [{"name": f"f{n}", "type": "null"} for n in range(5000)]
    record = {"type": "record", "name": "R", "fields": [*fields, {"name": "b", "type": "boolean"}]}
    assert "more values" in refused(
        {"type": "array", "items": record}, number(1_000_000) + b"\0" * 1_000_000 + b"\0"
    )


@pytest.mark.parametrize(
    ("schema", "data", "message"),
    [
        ("boolean", b"\x02", "in the place of a boolean"),
        ("string", number(-1), "a length of -1 bytes"),
        ("string", number(2**40), "a length of"),
        ("string", b"\x02\xff", "not UTF-8"),
        ("long", b"\xff" * 11, "more than 64 bits"),
        ("long", b"\xff" * 9 + b"\x7f", "more than 64 bits"),
        (["null", "long"], number(2), "number 2 of 2 types of a union"),
        (["null", "long"], number(-1), "number -1 of 2 types of a union"),
        ({"type": "enum", "name": "E", "symbols": ["a"]}, number(1), "number 1 of 1 symbols"),
        ([], number(0), "number 0 of 0 types"),
        ({"type": "fixed", "name": "F", "size": 8}, b"1234", "ends in the middle"),
        ("double", b"1234", "ends in the middle"),
    ],
)
def test_refused_values(schema: object, data: bytes, message: str) -> None:
    assert message in refused(schema, data)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("wire.Missing", "no type 'wire.Missing'"),
        (7, "found a number"),
        ({"type": None}, "found null"),
        ({"type": "array"}, "found null"),
        ({"type": "record", "name": "R"}, "no list of fields"),
        ({"type": "record", "fields": []}, "has no name"),
        ({"type": "record", "name": "R", "fields": [{"type": "int"}]}, "a field of the record"),
        ({"type": "enum", "name": "E", "symbols": [1]}, "no list of symbols"),
        ({"type": "fixed", "name": "F", "size": 1 << 40}, "a number of bytes"),
        ([{"type": "fixed", "name": "F", "size": 1}, {"type": "fixed", "name": "F", "size": 2}],
         "two types have the name 'F'"),
        ({"type": "enum", "name": "E", "symbols": ["a"] * MAX_PARTS}, "types, fields and symbols"),
    ],
)  # fmt: skip
def test_refused_schemas(schema: object, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        compile_schema(orjson.dumps(schema))


def test_a_schema_that_is_nested_too_deep() -> None:
    schema: object = "int"
    for _ in range(MAX_DEPTH + 1):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError, match="nested more than"):
        compile_schema(orjson.dumps(schema))
    with pytest.raises(SchemaError, match="not valid JSON"):
        compile_schema("[" * 100_000)


def test_a_type_in_a_type() -> None:
    """Java's libraries write it so."""
    assert read({"type": {"type": "string", "avro.java.string": "String"}}, b"\x02a") == "a"


def test_names_in_namespaces_and_references() -> None:
    tag = {"type": "record", "name": "Tag", "namespace": "shared", "fields": []}
    article = {
        "type": "record", "name": "wire.Article",
        "fields": [
            {"name": "tag", "type": "shared.Tag"},
            {"name": "inner", "type": {"type": "record", "name": "Inner", "fields": [
                {"name": "up", "type": ["null", "Article"]}]}},
            {"name": "again", "type": "wire.Inner"},
        ],
    }  # fmt: skip
    reader = compile_schema(orjson.dumps(article), [orjson.dumps(tag).decode()])
    assert read_datum(reader, b"\0\0", 0, 100) == {
        "tag": {}, "inner": {"up": None}, "again": {"up": None},
    }  # fmt: skip
