"""Document events from a file or standard input: JSON lines, a JSON array, or objects in a row.

Packed files are unpacked on the way (see `input_file`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path

from pipeline.corpora.input_file import STANDARD_INPUT, check_input, parts_of, pipe_part
from pipeline.corpora.json_elements import json_elements
from pipeline.corpora.lines import BEYOND, bounded_lines
from pipeline.corpora.packed import Chunks, followed_by, read_head
from pipeline.events.event import MAX_EVENT_BYTES

EXPECTED = (
    "a file of JSON lines or a JSON array (.jsonl or .json, may be packed). For a corpus write "
    "kind:PATH; `wirerank corpora` lists the kinds."
)
# An array, or an object that does not end in its first line, as `jq` writes it. Possessive: the
# blanks are read once.
_ELEMENTS = re.compile(rb"\s*+(?:\[|\{[ \t\r]*+\n)")
_LINES = re.compile(rb"\s*+(?:[^\s\[{]|\{[ \t\r]*+[^ \t\r\n])")


class JsonLines:
    """The events of a file. An event beyond the limit is cut, and the event decoder refuses it."""

    topics: Sequence[str] = ()  # a file of events declares none
    total: int | None = None  # not known before the file is read

    def __init__(
        self, path: Path, max_event_bytes: int = MAX_EVENT_BYTES, lines_only: bool = False
    ) -> None:
        check_input(path, EXPECTED)
        self.path = path
        self.longest = max_event_bytes + BEYOND
        self._lines_only = lines_only

    def __iter__(self) -> Iterator[bytes]:
        for part in parts_of(self.path):
            if self._lines_only:
                yield from bounded_lines(part, self.longest)
            else:
                yield from json_events(part, self.longest, str(self.path))


class StandardInput:
    """Events from a pipe. An empty line signals a pause, so that pending events are ranked."""

    topics: Sequence[str] = ()
    total: int | None = None

    def __init__(
        self,
        file: FileIO | None = None,
        max_event_bytes: int = MAX_EVENT_BYTES,
        lines_only: bool = False,
    ) -> None:
        if file is None:
            check_input(STANDARD_INPUT, EXPECTED)
        self._file = file
        self._longest = max_event_bytes + BEYOND
        self._lines_only = lines_only

    def __iter__(self) -> Iterator[bytes]:
        parts = parts_of(STANDARD_INPUT) if self._file is None else [pipe_part(self._file)]
        for part in parts:
            if self._lines_only:
                yield from bounded_lines(part, self._longest)
            else:
                yield from json_events(part, self._longest, "standard input")


def json_events(chunks: Chunks, longest: int, name: str) -> Iterator[bytes]:
    """The events of a part, each cut at `longest` bytes; its beginning says how to read it."""
    head = yield from read_head(
        chunks, lambda data: bool(_LINES.match(data) or _ELEMENTS.match(data))
    )
    whole = followed_by(head, chunks)
    if _ELEMENTS.match(head):
        yield from json_elements(whole, longest, name)
    else:
        yield from bounded_lines(whole, longest)
