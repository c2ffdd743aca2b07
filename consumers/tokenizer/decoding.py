"""Decodes the records of a stream's input topics as events."""

from __future__ import annotations

from consumers.kafka.client_types import Message
from consumers.stream_settings import StreamSettings
from pipeline.events.event import Event, MalformedEvent
from pipeline.events.formats import new_decoder
from pipeline.events.record import Record


class EventDecoder:
    """Decodes documents in the stream's format, and the records of label topics as labels."""

    def __init__(self, stream: StreamSettings) -> None:
        self._max_event_bytes = stream.max_event_bytes
        self._decode_document = new_decoder(stream.format, stream.mapping)
        self._decode_label = new_decoder("wirerank", stream.label_mapping)
        self._label_topics = frozenset(stream.labels)

    def __call__(self, message: Message) -> Event:
        """Return the event of a record, or raise `MalformedEvent`."""
        if message.damage:
            raise MalformedEvent("undecodable_batch", message.damage)
        is_label = message.topic in self._label_topics
        decode = self._decode_label if is_label else self._decode_document
        return decode(record_of(message), self._max_event_bytes)


def record_of(message: Message) -> Record:
    """A message as decoders take it."""
    return Record(
        message.value, message.key, message.timestamp, message.headers,
        message.topic, message.partition, message.offset,
    )  # fmt: skip
