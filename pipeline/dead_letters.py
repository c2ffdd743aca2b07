"""Events that cannot be used: counted by reason, and kept with it and with where they came from."""

from __future__ import annotations

import base64
from collections import Counter
from pathlib import Path
from typing import IO

import orjson

from pipeline.events import MAX_EVENT_BYTES, MalformedEvent


class DeadLetterFile:
    """A file of dead letters, made when the first one comes; those of earlier runs stay in it."""

    def __init__(self, path: Path, source: str, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.path = path
        self.source = source
        self.max_event_bytes = max_event_bytes
        self.counts: Counter[str] = Counter()
        self._file: IO[bytes] | None = None

    def add(self, raw: bytes, line: int, problem: MalformedEvent) -> None:
        """Keep an event unchanged (base64 if it is no text), with its reason and line number."""
        self.counts[problem.reason] += 1
        if self._file is None:
            self._file = self.path.open("ab")
        letter: dict[str, str | int | bool] = {
            "reason": problem.reason,
            "detail": problem.detail,
            "source": self.source,
            "line": line,
        }
        if len(raw) > self.max_event_bytes:  # the rest of such a line was never read
            raw = raw[: self.max_event_bytes]
            letter["cut"] = True
        try:
            letter["event"] = raw.decode()
        except UnicodeDecodeError:
            letter["event_base64"] = base64.b64encode(raw).decode()
        self._file.write(orjson.dumps(letter) + b"\n")

    def close(self) -> None:
        """Write out what is left."""
        if self._file is not None:
            self._file.close()
