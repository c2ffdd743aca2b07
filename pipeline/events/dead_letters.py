"""Dead letters: events that cannot be used, counted by reason and kept with their origin."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

import orjson

from pipeline.events.event import MAX_EVENT_BYTES, Refusal
from pipeline.storage.output_files import PRIVATE, naming, open_for_lines


class DeadLetter(NamedTuple):
    """A raw event that cannot be used, its line in the source, and the reason."""

    raw: bytes
    line: int
    refusal: Refusal


class DeadLetterFile:
    """A file of dead letters, created with the first one. Those of earlier runs stay in it.

    It holds whole events, so only its owner can read it.
    """

    def __init__(self, path: Path, source: str, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.path = path
        self.source = source.encode(
            "utf-8", "replace"
        ).decode()  # a file name need not be valid UTF-8
        self.max_event_bytes = max_event_bytes
        self.counts: Counter[str] = Counter()
        self._file: IO[bytes] | None = None

    def write(self, letters: Iterable[DeadLetter]) -> None:
        """Append dead letters; their events stay unchanged (in base64 if they are not UTF-8)."""
        for letter in letters:
            self.counts[letter.refusal.reason] += 1
            if self._file is None:
                self._file = open_for_lines(self.path, PRIVATE)
            with naming(self.path):
                self._file.write(orjson.dumps(self._as_json(letter)) + b"\n")
        if self._file is not None:
            with naming(self.path):
                self._file.flush()

    def _as_json(self, letter: DeadLetter) -> dict[str, str | int | bool]:
        fields: dict[str, str | int | bool] = {
            "reason": letter.refusal.reason,
            "detail": letter.refusal.detail,
            "source": self.source,
            "line": letter.line,
        }
        raw = letter.raw
        if letter.refusal.reason == "too_large":  # the rest of the line was never read
            raw = raw[: self.max_event_bytes]
            fields["cut"] = True
        try:
            fields["event"] = raw.decode()
        except UnicodeDecodeError:
            fields["event_base64"] = base64.b64encode(raw).decode()
        return fields

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with naming(self.path):
                self._file.close()
