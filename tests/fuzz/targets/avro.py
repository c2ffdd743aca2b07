"""Values in Avro: the schema and the bytes, both mutated."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import orjson

from pipeline.events.avro_schema import SchemaError, compile_schema
from pipeline.events.event import MAX_EVENT_BYTES, REASONS, MalformedEvent
from pipeline.events.formats import new_decoder
from pipeline.events.record import Record
from pipeline.events.schema_ids import RegisteredSchema
from tests.fuzz.mutation import JsonMutator, blown_up, keys_in, mutate_bytes
from tests.fuzz.target import Broken, Target, kind_of
from tests.fuzz.targets.events import check_round_trip

SCHEMA: dict[str, Any] = {
    "type": "record", "name": "E", "namespace": "n", "fields": [
        {"name": "id", "type": ["string", "long"]},
        {"name": "text", "type": ["null", "string", "bytes"]},
        {"name": "features", "type": ["null", {"type": "map", "values": "double"}]},
        {"name": "topics", "type": ["null", {"type": "array", "items": "string"}]},
        {"name": "rank", "type": ["null", "int", {"type": "bytes", "logicalType": "decimal"}]},
        {"name": "time", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "up", "type": ["null", "E", {"type": "enum", "name": "S", "symbols": ["a"]},
                                {"type": "fixed", "name": "F", "size": 2}, "boolean", "float"]},
    ],
}  # fmt: skip
NUMBER = 2 * 541_350_061_250  # of milliseconds since 1970, with its sign
VALUE = (
    b"\x00\x02a" + b"\x02\x0aWheat" + b"\x00" + b"\x02\x02\x0agrain\x00" + b"\x02\x06"
    + b"\x02" + bytes((NUMBER >> shift) & 0x7F | 0x80 for shift in range(0, 35, 7))
    + bytes([NUMBER >> 35]) + b"\x00"
)  # fmt: skip
FEATURES = b"\x02\x0e" + b"\x00" + b"\x02\x02\x02w\x00\x00\x00\x00\x00\x00\xf8?\x00" + b"\x00" * 4
WORDS: tuple[Any, ...] = (
    "null", "boolean", "int", "long", "float", "double", "bytes", "string", "E", "n.E", "array",
    "map", "record", "enum", "fixed", "timestamp-micros", "timestamp-nanos", "date", "uuid",
    "local-timestamp-millis", "decimal", {"type": "array", "items": "null"}, ["null", "E"], [],
    {"type": "fixed", "name": "Z", "size": 0}, None, 0, 1 << 40,
)  # fmt: skip
NUMBERS = (b"\x00", b"\x01", b"\x02", b"\xff" * 9 + b"\x01", b"\xfe\xff\xff\xff\x0f", b"\x80")


class Avro(Target):
    """Values in Avro: `pipeline/events/avro.py`, `avro_schema.py` and `avro_logical_types.py`.

    An input is a schema, a zero, and the bytes of a value.
    """

    name = "avro"

    def __init__(self) -> None:
        self._mutator = JsonMutator(sorted(keys_in(SCHEMA)), WORDS)

    def seeds(self) -> Sequence[bytes]:
        schema = orjson.dumps(SCHEMA)
        return [schema + b"\0" + VALUE, schema + b"\0" + FEATURES]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        schema, _, value = data.partition(b"\0")
        other_schema, _, other_value = other.partition(b"\0")
        if rng.random() < 0.4:
            schema = self._mutator.mutate(rng, schema, other_schema).replace(b"\0", b"")
        if rng.random() < 0.8:
            value = mutate_bytes(rng, value, other_value, NUMBERS)
        return schema + b"\0" + value

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        schema, _, value = data.partition(b"\0")
        filler = rng.choice((b"\x02", b"\x00\x00\x02", value, b"\xfe\x01" + b"a" * 127))
        grown = value[: rng.randint(0, len(value))] + blown_up(rng, filler, self.largest - 5000)
        return schema + b"\0" + grown

    def run(self, data: bytes) -> str:
        schema, _, value = data.partition(b"\0")
        try:
            registered = RegisteredSchema("AVRO", compile_schema(schema))
        except SchemaError as error:
            return kind_of(error)
        decode = new_decoder("avro", None, lambda id_: registered)
        record = Record(b"\0\0\0\0\x07" + value, topic="wire")
        try:
            event = decode(record, MAX_EVENT_BYTES)
        except MalformedEvent as problem:
            if problem.reason not in REASONS:
                raise Broken(f"refused with reason {problem.reason!r}") from None
            problem.detail.encode()
            return f"{problem.reason} {kind_of(problem)}"
        check_round_trip(event)
        return " ".join("-" if part is None else type(part).__name__ for part in event)
