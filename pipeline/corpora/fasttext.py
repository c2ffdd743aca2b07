"""Lines as fastText reads them: labels such as `__label__grain`, and words.

As in fastText, a word that begins with the prefix is a label wherever it stands in its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from pipeline.corpora.input_file import check_input, parts_of
from pipeline.corpora.lines import BEYOND, bounded_lines
from pipeline.corpora.packed import Chunks
from pipeline.corpora.source import RefusedEvent, SourceError
from pipeline.events.event import MAX_EVENT_BYTES, Refusal

PREFIX = "__label__"
FEW_LABELS = 16


class FasttextLines:
    """Source of the lines of a file; the id of a document is the number of its line.

    A line without labels is a document that is not labelled.
    """

    topics: Sequence[str] = ()  # labels are discovered
    total: int | None = None  # not known before the file is read

    def __init__(
        self, path: Path, prefix: str = PREFIX, max_event_bytes: int = MAX_EVENT_BYTES
    ) -> None:
        check_input(path, f"a file of lines such as {PREFIX}grain Wheat is up")
        if not prefix or prefix != "".join(prefix.split()):
            raise SourceError("fasttext: prefix= must be a text without blanks")
        self._path = path
        self._prefix = prefix
        self._longest = max_event_bytes

    def _parts(self) -> Iterator[Chunks]:
        return parts_of(self._path)

    def __iter__(self) -> Iterator[bytes]:
        number = 0
        for part in self._parts():
            for line in bounded_lines(part, self._longest + BEYOND):
                number += bool(line)
                yield self._event(number, line) if line.strip() else line

    def _event(self, number: int, line: bytes) -> bytes:
        if len(line.rstrip(b"\r\n")) > self._longest:
            detail = f"the line has more than {self._longest:,} bytes"
            return RefusedEvent(line, Refusal("too_large", detail))
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return RefusedEvent(line, Refusal("bad_row", "the line is not UTF-8"))
        labels, text = self._split(text.strip())
        fields: dict[str, Any] = {"id": number}
        if labels:
            fields["topics"] = [label.removeprefix(self._prefix) for label in labels]
        # Present even if empty, because an event without content would be a late label.
        return orjson.dumps({**fields, "text": text})

    def _split(self, text: str) -> tuple[list[str], str]:
        """The labels and the words of a line; the usual line has a few labels, and then words."""
        *first, rest = text.split(maxsplit=FEW_LABELS) or [""]
        count = next((n for n, word in enumerate(first) if not word.startswith(self._prefix)), None)
        if count is not None and rest.find(self._prefix) < 0:
            words = first[count:]
            if not any(word.startswith(self._prefix) for word in words):
                return first[:count], " ".join((*words, rest))
        words = text.split()
        return (
            [word for word in words if word.startswith(self._prefix)],
            " ".join(word for word in words if not word.startswith(self._prefix)),
        )
