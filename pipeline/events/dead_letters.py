"""Events that cannot be used: counted by reason, and kept with it and with where they came from."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

import orjson

from pipeline.events.event import MAX_EVENT_BYTES, MalformedEvent


class DeadLetter(NamedTuple):
    """A raw event that cannot be used, where it was, and why."""

    raw: bytes
    line: int
    problem: MalformedEvent


class DeadLetterFile:
    """A file of dead letters, made when the first one comes; those of earlier runs stay in it."""

    def __init__(self, path: Path, source: str, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.path = path
        self.source = source.encode("utf-8", "replace").decode()  # names of files may be anything
        self.max_event_bytes = max_event_bytes
        self.counts: Counter[str] = Counter()
        self._file: IO[bytes] | None = None

    def write(self, letters: Iterable[DeadLetter]) -> None:
        """Keep events unchanged (base64 if they are no text), with their reasons and lines."""
        for letter in letters:
            self.counts[letter.problem.reason] += 1
            if self._file is None:
                self._file = self.path.open("ab")
            self._file.write(orjson.dumps(self._described(letter)) + b"\n")
        if self._file is not None:
            self._file.flush()

    def _described(self, letter: DeadLetter) -> dict[str, str | int | bool]:
        described: dict[str, str | int | bool] = {
            "reason": letter.problem.reason,
            "detail": letter.problem.detail,
            "source": self.source,
            "line": letter.line,
        }
        raw = letter.raw
        if letter.problem.reason == "too_large":  # the rest of such a line was never read
            raw = raw[: self.max_event_bytes]
            described["cut"] = True
        try:
            described["event"] = raw.decode()
        except UnicodeDecodeError:
            described["event_base64"] = base64.b64encode(raw).decode()
        return described

    def close(self) -> None:
        """Write out what is left."""
        if self._file is not None:
            self._file.close()
