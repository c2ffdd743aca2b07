"""Events that confluent-kafka writes, with schemas that it registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

NATIVE_AVRO: dict[str, Any] = {
    "type": "record", "name": "Event", "namespace": "test",
    "fields": [
        {"name": "id", "type": ["string", "long"]},
        {"name": "title", "type": ["null", "string"], "default": None},
        {"name": "text", "type": ["null", "string"], "default": None},
        {"name": "features", "type": ["null", {"type": "map", "values": "double"}],
         "default": None},
        {"name": "topics", "type": ["null", {"type": "array", "items": "string"}],
         "default": None},
        {"name": "rank", "type": ["null", "int"], "default": None},
        {"name": "time", "type": ["null", "string"], "default": None},
    ],
}  # fmt: skip
NATIVE_JSON: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#", "title": "Event", "type": "object",
    "properties": {"id": {"type": ["string", "integer"]}}, "required": ["id"],
}  # fmt: skip

Serialize = Callable[[Mapping[str, Any]], bytes]


def avro_serializer(url: str, topic: str, schema: object) -> Serialize:
    """A function that writes an object as Avro, and registers its schema for the topic."""
    serializer = AvroSerializer(SchemaRegistryClient({"url": url}), orjson.dumps(schema).decode())
    return in_topic(serializer, topic)


def json_serializer(url: str, topic: str, schema: object) -> Serialize:
    """A function that writes an object as JSON with the id of its schema."""
    text = orjson.dumps(schema).decode()
    return in_topic(JSONSerializer(text, SchemaRegistryClient({"url": url})), topic)


def in_topic(serializer: Callable[..., bytes | None], topic: str) -> Serialize:
    context = SerializationContext(topic, MessageField.VALUE)
    return lambda event: serializer(dict(event), context) or b""


def send(bootstrap: str, topic: str, values: list[bytes | None]) -> None:
    """Write values to the first partition of a topic, with a client that nobody here wrote."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20})
    for value in values:
        producer.produce(topic, value, partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0
