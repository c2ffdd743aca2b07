"""Documents in one folder per class: the name of the folder is the topic of its files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

import orjson

from pipeline.corpora.corpus_files import OpenableFiles, open_files
from pipeline.corpora.input_file import named_part
from pipeline.corpora.lines import BEYOND
from pipeline.corpora.packed import CHUNK_BYTES, unpacked_name
from pipeline.corpora.source import RefusedEvent, SourceError, valid_text
from pipeline.events.event import MAX_EVENT_BYTES, Refusal
from pipeline.text.markup import text_of

ORDERS = ("random", "name")
HTML_ENDINGS = (".html", ".htm", ".xhtml")
_HTML = re.compile(r"\s*+<(?:!doctype\s++html|html)\b", re.IGNORECASE)


class ClassFolders:
    """Source of all files in folders, in a seeded shuffle that is the same on every machine.

    Parameters
    ----------
    path
        The folder of the folders, or an archive of them. There may be folders such as `train` and
        `test` above them; the class is the folder that a file is in.
    order
        `random`, or `name`, which is one class after another and unlike any real stream.
    seed
        Another number gives another random order.

    """

    def __init__(
        self,
        path: Path,
        order: str = "random",
        seed: int = 0,
        max_event_bytes: int = MAX_EVENT_BYTES,
    ) -> None:
        check_order("folders", order, ORDERS)
        self._path = path
        self._longest = max_event_bytes
        self._files: OpenableFiles = open_files(path, lambda name: "/" in name)
        if not self._files.names:
            raise SourceError(
                f"{path} has no files in folders; expected one folder per class with one file per "
                "document (links are not followed): name the folder that holds the folders"
            )
        self._names = list(self._files.names)
        if order == "random":
            self._names = shuffled(self._names, seed)

    @cached_property
    def topics(self) -> Sequence[str]:
        """The names of the folders, sorted."""
        return sorted(set(map(class_of, self._names)))

    @property
    def total(self) -> int:
        """The number of files."""
        return len(self._names)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the document events, reading each file on demand."""
        for name in self._names:
            yield self._event(name, self._read(name))

    def _read(self, name: str) -> bytes:
        """The unpacked content of a file, up to a byte beyond the limit."""
        parts: list[bytes] = []
        size = 0
        with self._files.open(name) as file:
            chunks = iter(lambda: file.read(CHUNK_BYTES), b"")
            for chunk in named_part(chunks, f"{self._path}: {name}", as_text=True):
                parts.append(chunk)
                size += len(chunk)
                if size > self._longest:
                    break
        return b"".join(parts)[: self._longest + BEYOND]

    def _event(self, name: str, content: bytes) -> bytes:
        if len(content) > self._longest:
            detail = f"{name[:200]} has more than {self._longest:,} bytes"
            return RefusedEvent(content, Refusal("too_large", valid_text(detail)))
        try:
            text = content.decode()
        except UnicodeDecodeError:
            detail = f"{name[:200]} is not UTF-8"
            return RefusedEvent(content, Refusal("bad_content", valid_text(detail)))
        if unpacked_name(name).lower().endswith(HTML_ENDINGS) or _HTML.match(text):
            text = text_of(text)
        fields = {"id": valid_text(name), "text": text, "topics": [class_of(name)]}
        return orjson.dumps(fields)


def check_order(kind: str, order: str, known: Sequence[str]) -> None:
    """Refuse an order that a kind of source does not have."""
    if order not in known:
        raise SourceError(f"{kind} has no order {order!r}; choose {' or '.join(known)}")


def class_of(name: str) -> str:
    """The class of a file: the name of the folder that it is in."""
    return valid_text(PurePosixPath(name).parts[-2])


def shuffled(names: Sequence[str], seed: int) -> list[str]:
    """The names in random order; a hash gives the same order with every version of Python."""
    return sorted(
        names,
        key=lambda name: hashlib.sha256(f"{seed}:{valid_text(name)}".encode()).digest(),
    )
