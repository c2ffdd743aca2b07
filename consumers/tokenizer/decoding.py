"""Decodes the records of a stream's input topics as events."""

from __future__ import annotations

from typing import Any

from consumers.kafka.client_types import Message
from consumers.registry.resolver import SchemaResolver
from consumers.stream_settings import StreamSettings
from pipeline.events.event import Event, MalformedEvent
from pipeline.events.formats import REGISTRY_FORMATS, new_decoder
from pipeline.events.record import Record
from pipeline.events.schema_ids import object_parser, schema_id


class EventDecoder:
    """Decodes documents in the stream's format, and the records of label topics as labels.

    `schemas` must know the schema of a record before the record is decoded.
    """

    def __init__(self, stream: StreamSettings, schemas: SchemaResolver | None) -> None:
        self.schemas = schemas
        lookup = None if schemas is None else schemas.lookup
        self._max_event_bytes = stream.max_event_bytes
        self._decode_document = new_decoder(stream.format, stream.mapping, lookup)
        self._decode_label = new_decoder(stream.label_format, stream.label_mapping, lookup)
        self._label_topics = frozenset(stream.labels)
        self._format, self._lookup = stream.format, lookup
        self._documents_have_ids = stream.format in REGISTRY_FORMATS
        self._labels_have_ids = stream.label_format in REGISTRY_FORMATS
        self._passed_on_parts = stream.output.passed_on_parts

    def __call__(self, message: Message) -> Event:
        """Return the event of a record, or raise `MalformedEvent`."""
        if message.damage:
            raise MalformedEvent("undecodable_batch", message.damage)
        is_label = message.topic in self._label_topics
        decode = self._decode_label if is_label else self._decode_document
        record = record_of(message)
        event = decode(record, self._max_event_bytes)
        if self._passed_on_parts is None or event.content is None:
            return event
        return event._replace(passed_on=self._passed_on_parts.of(record))

    def schema_id(self, message: Message) -> int | None:
        """The id of the schema that a record needs; None if it needs none."""
        is_label = message.topic in self._label_topics
        has_id = self._labels_have_ids if is_label else self._documents_have_ids
        return schema_id(message.value) if has_id and not message.damage else None

    def object_of(self, message: Message) -> dict[str, Any] | None:
        """The object that the fields of a document are read from, if its schema describes one."""
        if self._lookup is None or message.value is None or self.schema_id(message) is None:
            return None
        try:
            return object_parser(self._format, self._lookup)(message.value, self._max_event_bytes)
        except MalformedEvent:
            return None


def record_of(message: Message) -> Record:
    """A message as decoders take it."""
    return Record(
        message.value, message.key, message.timestamp, message.headers,
        message.topic, message.partition, message.offset,
    )  # fmt: skip
