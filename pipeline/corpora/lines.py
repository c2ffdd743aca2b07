"""Lines of bounded length, from chunks of input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipeline.corpora.input_file import check_input, parts_of
from pipeline.corpora.packed import Chunks

BEYOND = 3  # a line end and one more byte, so that the decoder sees that an event is too long


def file_lines(path: Path, longest: int, expected: str = "a file") -> Iterator[bytes]:
    """The lines of a file, packed or not, each cut at `longest` bytes."""
    check_input(path, expected)
    for part in parts_of(path):
        yield from bounded_lines(part, longest)


def bounded_lines(chunks: Chunks, longest: int) -> Iterator[bytes]:
    """The lines in some chunks, each cut at `longest` bytes; empty ones wherever a chunk is empty.

    No more than a line of that length and a chunk is kept in memory.
    """
    # The parts of the line that is being read. They are joined once, when the line ends: a writer
    # that sends single bytes must not have the line copied for each of them.
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        if not chunk:
            yield b""
            continue
        first, *others = chunk.split(b"\n")
        if not others:
            rest = first
        else:
            if size < longest:  # otherwise its beginning was yielded
                yield b"".join((*parts, first, b"\n"))[:longest]
            rest = others.pop()
            for line in others:
                yield (line + b"\n")[:longest]
            parts, size = [], 0
        if size < longest:
            parts.append(rest)
            size += len(rest)
            if size >= longest:
                yield b"".join(parts)[:longest]
                parts = []
    if parts and size:
        yield b"".join(parts)
