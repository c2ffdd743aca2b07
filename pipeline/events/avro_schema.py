"""Turn an Avro schema into a reader of its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from pipeline.events.avro import (
    MAX_DEPTH,
    Datum,
    Reader,
    array_reader,
    enum_reader,
    fixed_reader,
    map_reader,
    read_boolean,
    read_bytes,
    read_double,
    read_float,
    read_long,
    read_null,
    read_string,
    record_reader,
    union_reader,
)
from pipeline.events.avro_logical_types import Converter, as_text, converter_of
from pipeline.events.json_types import json_type

MAX_PARTS = 20_000  # types, fields and symbols of a schema with all that it refers to
MAX_FIXED_BYTES = 1 << 20

PRIMITIVES: dict[str, Reader] = {
    "null": read_null,
    "boolean": read_boolean,
    "int": read_long,
    "long": read_long,
    "float": read_float,
    "double": read_double,
    "bytes": read_bytes,
    "string": read_string,
}
RECORDS = ("record", "error")


class SchemaError(Exception):
    """A schema that cannot be used; the message says why."""


def compile_schema(text: str | bytes, references: Sequence[str] = ()) -> Reader:
    """Return the reader of a schema in JSON; `references` are the schemas that it refers to.

    Examples
    --------
    >>> from pipeline.events.avro import read_datum
    >>> article = '{"type": "record", "name": "A", "fields": [{"name": "id", "type": "long"}]}'
    >>> read_datum(compile_schema(article), bytes([14]), 0, 100)
    {'id': 7}

    """
    compiler = SchemaCompiler()
    for reference in references:
        compiler.compile(parse_schema(reference))
    return compiler.compile(parse_schema(text))


def parse_schema(text: str | bytes) -> Any:  # noqa: ANN401 - JSON
    """Parse the JSON of a schema."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"it is not valid JSON: {error}") from None


class SchemaCompiler:
    """Compiles schemas that may refer to each other by the names of their types."""

    def __init__(self) -> None:
        self._named: dict[str, Reader] = {}
        self._parts = 0

    def compile(self, schema: Any, namespace: str = "", depth: int = 0) -> Reader:  # noqa: ANN401
        """Return the reader of a schema inside of a namespace."""
        self._count(1)
        if depth > MAX_DEPTH:
            raise SchemaError(f"its types are nested more than {MAX_DEPTH} deep")
        if isinstance(schema, str):
            return self._by_name(schema, namespace)
        if isinstance(schema, list):
            return union_reader([self.compile(one, namespace, depth + 1) for one in schema])
        if not isinstance(schema, dict):
            raise SchemaError(f"a type must be a name, an object or a list, found {show(schema)}")
        type_ = schema.get("type")
        if isinstance(type_, dict | list):
            return self.compile(type_, namespace, depth + 1)
        if type_ in RECORDS:
            return self._record(schema, namespace, depth)
        if type_ == "array":
            return array_reader(self.compile(schema.get("items"), namespace, depth + 1))
        if type_ == "map":
            return map_reader(self.compile(schema.get("values"), namespace, depth + 1))
        if type_ in ("enum", "fixed"):
            return self._enum_or_fixed(schema, namespace)
        if not isinstance(type_, str):
            raise SchemaError(f"`type` must be a name, an object or a list, found {show(type_)}")
        if type_ in PRIMITIVES:
            return converted(PRIMITIVES[type_], converter_of(schema, type_))
        return self._by_name(type_, namespace)

    def _count(self, parts: int) -> None:
        self._parts += parts
        if self._parts > MAX_PARTS:
            raise SchemaError(f"it has more than {MAX_PARTS:,} types, fields and symbols")

    def _by_name(self, name: str, namespace: str) -> Reader:
        if name in PRIMITIVES:
            return converted(PRIMITIVES[name], as_text if name == "bytes" else None)
        for full in (full_name(name, namespace), name):
            if full in self._named:
                return self._named[full]
        raise SchemaError(f"it has no type {name[:80]!r}, and refers to no schema that has it")

    def _new_name(self, schema: dict[str, Any], namespace: str) -> str:
        name, own = schema.get("name"), schema.get("namespace", namespace)
        if not isinstance(name, str) or not name or not isinstance(own, str):
            raise SchemaError(f"a type has no name that is a text: {show(name)}")
        full = full_name(name, own)
        if full in self._named or full in PRIMITIVES:
            raise SchemaError(f"two types have the name {full[:80]!r}")
        return full

    def _record(self, schema: dict[str, Any], namespace: str, depth: int) -> Reader:
        name, fields = self._new_name(schema, namespace), schema.get("fields")
        if not isinstance(fields, list):
            raise SchemaError(f"the record {name[:80]!r} has no list of fields")
        self._count(len(fields))
        # A field may have the type of the record itself, which is not made yet.
        self._named[name] = lambda datum: read(datum)  # noqa: PLW0108
        inner, readers = name.rpartition(".")[0], []
        for field in fields:
            if not isinstance(field, dict) or not isinstance(field.get("name"), str):
                raise SchemaError(f"a field of the record {name[:80]!r} has no name")
            readers.append((field["name"], self.compile(field.get("type"), inner, depth + 1)))
        read = self._named[name] = record_reader(readers)
        return read

    def _enum_or_fixed(self, schema: dict[str, Any], namespace: str) -> Reader:
        name = self._new_name(schema, namespace)
        if schema["type"] == "enum":
            symbols = schema.get("symbols")
            if not isinstance(symbols, list) or not all(isinstance(s, str) for s in symbols):
                raise SchemaError(f"the enum {name[:80]!r} has no list of symbols")
            self._count(len(symbols))
            reader = enum_reader(tuple(symbols))
        else:
            size = schema.get("size")
            if type(size) is not int or not 0 <= size <= MAX_FIXED_BYTES:
                raise SchemaError(f"the size of {name[:80]!r} must be a number of bytes")
            reader = converted(fixed_reader(size), converter_of(schema, "fixed"))
        self._named[name] = reader
        return reader


def full_name(name: str, namespace: str) -> str:
    """Return the name of a type with its namespace.

    >>> full_name("Tag", "wire"), full_name("desk.Tag", "wire"), full_name("Tag", "")
    ('wire.Tag', 'desk.Tag', 'Tag')
    """
    return f"{namespace}.{name}" if namespace and "." not in name else name


def converted(read: Reader, convert: Converter | None) -> Reader:
    """Return a reader that converts what another one reads."""
    if convert is None:
        return read

    def read_converted(datum: Datum) -> Any:  # noqa: ANN401 - any type
        return convert(read(datum))

    return read_converted


def show(value: object) -> str:
    """Describe a part of a schema in a message."""
    return repr(value[:80]) if isinstance(value, str) else json_type(value)
