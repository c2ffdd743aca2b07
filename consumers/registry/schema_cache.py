"""Keeps schemas by their ids: a bounded number, and for a short time that one is missing."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from consumers.registry.client import FoundSchema

MAX_SCHEMAS = 1000
MAX_BYTES = 16 << 20  # of the texts of schemas
MAX_MISSING = 10_000
MISSING_SECONDS = 30.0


class SchemaCache:
    """What is known about ids; the ones that were used least recently are forgotten first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._found: OrderedDict[int, FoundSchema] = OrderedDict()
        self._missing: OrderedDict[int, tuple[float, FoundSchema]] = OrderedDict()
        self._bytes = 0

    def get(self, id_: int) -> FoundSchema | None:
        """What is known about an id, if it is known still."""
        found = self._found.get(id_)
        if found is not None:
            self._found.move_to_end(id_)
            return found
        until, missing = self._missing.get(id_, (0.0, None))
        return missing if self._clock() < until else None

    def put(self, id_: int, found: FoundSchema) -> None:
        """Keep what the registry said about an id."""
        if not found.is_final:
            self._missing[id_] = self._clock() + MISSING_SECONDS, found
            self._missing.move_to_end(id_)
            if len(self._missing) > MAX_MISSING:
                self._missing.popitem(last=False)
            return
        self._found[id_] = found
        self._bytes += found.size
        while len(self._found) > MAX_SCHEMAS or (self._bytes > MAX_BYTES and len(self._found) > 1):
            _, forgotten = self._found.popitem(last=False)
            self._bytes -= forgotten.size
