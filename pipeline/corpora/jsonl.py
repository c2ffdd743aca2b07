"""Document events from a file of JSON lines (plain or gzip) or from standard input."""

from __future__ import annotations

import gzip
import os
import select
import stat
import sys
import zlib
from collections.abc import Iterator, Sequence
from io import BufferedReader, FileIO
from pathlib import Path
from typing import IO

from pipeline.corpora.source import SourceError
from pipeline.events.event import MAX_EVENT_BYTES

CHUNK_BYTES = 1 << 16
GZIP = b"\x1f\x8b"  # the first bytes of a gzip file
BEYOND = 3  # a line end and one more byte, so that the decoder sees that an event is too long


class JsonLines:
    """The lines of a file. A line beyond the limit is cut, and the event decoder refuses it."""

    topics: Sequence[str] = ()  # a file of events declares none
    total: int | None = None  # not known before the file is read

    def __init__(self, path: Path, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        if path.is_dir() or not path.exists():
            what = "is a folder" if path.is_dir() else "does not exist"
            raise SourceError(
                f"{path} {what}; expected a file of JSON lines (.jsonl or .jsonl.gz). For a corpus "
                "write kind:PATH; `wirerank corpora` lists the kinds."
            )
        self.path = path
        self.longest = max_event_bytes + BEYOND

    def __iter__(self) -> Iterator[bytes]:
        try:
            with FileIO(self.path) as raw, BufferedReader(raw) as file:
                zipped = file.peek(2)[:2] == GZIP or self.path.suffix == ".gz"
                if not zipped and is_pipe(raw):
                    yield from piped_lines(raw, self.longest, file.read1())
                    return
                lines = gzip.GzipFile(fileobj=file) if zipped else file
                yield from bounded_lines(lines, self.longest)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise SourceError(
                f"{self.path} is damaged or cut off: {error}. Everything before that point was "
                "processed; get the file again to read the rest."
            ) from None
        except OSError as error:
            raise SourceError(f"{self.path} cannot be read: {error.strerror or error}.") from None


def bounded_lines(file: gzip.GzipFile | IO[bytes], longest: int) -> Iterator[bytes]:
    """The lines of a file, each cut at `longest` bytes; no more than that is kept in memory."""
    while line := file.readline(longest):
        yield line
        while len(line) == longest and not line.endswith(b"\n"):
            line = file.readline(longest)


class StandardInput:
    """Lines from a pipe. An empty line signals a pause, so that pending events are ranked."""

    topics: Sequence[str] = ()
    total: int | None = None

    def __init__(self, file: FileIO | None = None, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        if file is None and sys.stdin is None:
            raise SourceError("Standard input is closed; pipe events into it or name a file.")
        self._file = file or FileIO(sys.stdin.fileno(), closefd=False)
        self._longest = max_event_bytes + BEYOND

    def __iter__(self) -> Iterator[bytes]:
        yield from piped_lines(self._file, self._longest)


def is_pipe(file: FileIO) -> bool:
    """Return whether a file is a pipe, a terminal or the like, whose content comes bit by bit."""
    mode = os.fstat(file.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def piped_lines(file: FileIO, longest: int, first: bytes = b"") -> Iterator[bytes]:
    """The lines of a pipe, each cut at `longest` bytes; an empty line whenever it has a pause.

    `first` was read from the pipe before.
    """
    # The parts of the line that is being read. They are joined once, when the line ends: a writer
    # that sends single bytes must not have the line copied for each of them.
    parts: list[bytes] = []
    size = 0
    chunk: bytes | None = first
    while True:
        if not chunk:
            if not select.select([file], [], [], 0)[0]:
                yield b""
                select.select([file], [], [])
            chunk = file.read(CHUNK_BYTES)
        if chunk is None:
            continue  # a non-blocking pipe from which another process read first
        if not chunk:
            break
        *lines, rest = chunk.split(b"\n")
        chunk = None
        for line in lines:
            if size < longest:  # otherwise its beginning was yielded
                yield b"".join((*parts, line, b"\n"))
            parts, size = [], 0
        if size < longest:
            parts.append(rest)
            size += len(rest)
            if size >= longest:
                yield b"".join(parts)[:longest]
                parts = []
    if parts and size:
        yield b"".join(parts)
