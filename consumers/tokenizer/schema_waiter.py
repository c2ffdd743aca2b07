"""Holds records back until their schemas are known.

While the registry is away, the records are polled again and again. So the worker stays a member of
its group, notices new partitions, and stops when it is asked to. Nothing is written or committed
about such records.
"""

from __future__ import annotations

import threading

from consumers.registry.http_client import RegistryAwayError
from consumers.tokenizer.decoding import EventDecoder
from consumers.tokenizer.document_reader import DocumentReader, Polled


class SchemaWaiter:
    """Finds the schemas of what was polled."""

    def __init__(self, decoder: EventDecoder, reader: DocumentReader) -> None:
        self._decoder = decoder
        self._reader = reader

    @property
    def is_away(self) -> bool:
        """Whether the registry is away, and records wait for it."""
        return self._decoder.schemas is not None and self._decoder.schemas.is_away

    def with_schemas(self, polled: Polled, stop: threading.Event) -> Polled:
        """The records whose schemas are known; all others will be polled again."""
        schemas = self._decoder.schemas
        if schemas is None:
            return polled
        schemas.begin()
        counts = {}
        try:
            for partition, messages in polled.items():
                counts[partition] = schemas.resolve(map(self._decoder.schema_id, messages), stop)
        except RegistryAwayError as error:
            for partition, messages in polled.items():
                self._reader.read_again(partition, messages[0].offset)
            schemas.wait(error, stop)
            return {}
        schemas.is_back()
        for partition, count in counts.items():
            if count < len(polled[partition]):
                self._reader.read_again(partition, polled[partition][count].offset)
        return {p: messages[: counts[p]] for p, messages in polled.items() if counts[p]}

    def close(self) -> None:
        """Disconnect from the registry."""
        if self._decoder.schemas is not None:
            self._decoder.schemas.close()
