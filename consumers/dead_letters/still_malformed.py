"""Whether the tokenizers would accept an event that is about to be sent back."""

from __future__ import annotations

import re
from threading import Event
from typing import Any

from consumers.dead_letters.letter import Letter
from consumers.kafka.batch_decoder import ConsumedRecord
from consumers.kafka.input_end import input_pattern
from consumers.registry.resolver import new_resolver
from consumers.settings import Config
from consumers.stream_settings import StreamSettings
from consumers.tokenizer.decoding import EventDecoder
from pipeline.events.event import MalformedEvent


class Acceptance:
    """Decodes events as the tokenizers of a stream do, with the present settings."""

    def __init__(self, config: Config, stream: StreamSettings) -> None:
        self._schemas = new_resolver(config, stream)
        self._decode = EventDecoder(stream, self._schemas)
        self._inputs = re.compile(input_pattern(config, stream))
        self._stream = stream

    def problem(self, letter: Letter, value: bytes, key: bytes | None) -> str | None:
        """Why the tokenizers would not accept an event; None if they would."""
        if not self._inputs.fullmatch(letter.topic):
            return f"came from {letter.topic}, which stream {self._stream.name} does not read"
        partition, offset = letter.origin or (0, 0)
        record: Any = ConsumedRecord(
            letter.topic, partition, offset, letter.time_ms, value, key, letter.headers
        )
        if self._schemas is not None:
            self._schemas.begin()
            self._schemas.resolve([self._decode.schema_id(record)], Event())
        try:
            self._decode(record)
        except MalformedEvent as error:
            return f"would be a dead letter again: {error.reason}: {error.detail}"
        return None
