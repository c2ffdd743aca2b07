"""Input of any size in chunks: from a file, a pipe or standard input, packed or not.

The members of a zip file are read one after another. Text with a byte order mark comes as UTF-8
without it, also text in UTF-16.
"""

from __future__ import annotations

import codecs
import os
import select
import stat
import sys
import zipfile
from collections.abc import Iterator
from io import FileIO
from pathlib import Path, PurePosixPath

from pipeline.corpora.corpus_files import check_compression
from pipeline.corpora.packed import (
    CHUNK_BYTES,
    ZIP,
    Chunks,
    DamagedStreamError,
    followed_by,
    read_head,
    starts_with_any,
    unpacked,
)
from pipeline.corpora.source import SourceError

STANDARD_INPUT = Path("-")
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: None,
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
MAX_MEMBERS = 100_000  # of a zip file


def check_input(path: Path, expected: str) -> None:
    """Refuse a path that is not a file; `-` is standard input."""
    if path == STANDARD_INPUT:
        if sys.stdin is None:
            raise SourceError("Standard input is closed; pipe events into it or name a file.")
    elif path.is_dir() or not path.exists():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise SourceError(f"{path} {what}; expected {expected}")


def parts_of(path: Path) -> Iterator[Chunks]:
    """The members of a zip file, by name, or the only part of any other input."""
    if path == STANDARD_INPUT:
        yield pipe_part(FileIO(sys.stdin.fileno(), closefd=False))
    elif is_zip(path):
        yield from _members(path)
    else:
        yield _part(_file_chunks(path), str(path))


def pipe_part(file: FileIO) -> Chunks:
    """The content of a pipe."""
    return _part(pipe_chunks(file), "standard input")


def is_zip(path: Path) -> bool:
    """Whether a regular file is a zip file, judging by its first bytes."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with FileIO(path) as file:
            return file.read(4).startswith(ZIP)
    except OSError:
        return False  # reading it reports the error


def _part(chunks: Chunks, name: str) -> Chunks:
    """The unpacked text of some chunks; errors name the input."""
    try:
        yield from in_utf8(unpacked(chunks))
    except (DamagedStreamError, zipfile.BadZipFile) as error:
        raise SourceError(
            f"{name} is damaged or cut off: {error}. Everything before that point was processed; "
            "get the file again to read the rest."
        ) from None
    except OSError as error:
        raise SourceError(f"{name} cannot be read: {error.strerror or error}.") from None


def _members(path: Path) -> Iterator[Chunks]:
    try:
        with zipfile.ZipFile(path) as pack:
            members = sorted(filter(is_wanted, pack.infolist()), key=lambda one: one.filename)
            if len(members) > MAX_MEMBERS:
                raise SourceError(
                    f"{path} has {len(members):,} members; expected at most {MAX_MEMBERS:,}"
                )
            for member in members:
                yield _part(_member_chunks(pack, member), f"{path}: {member.filename[:200]}")
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise SourceError(f"{path} cannot be read as a zip file: {error}.") from None


def is_wanted(member: zipfile.ZipInfo) -> bool:
    """Whether a member is a file that a person put there."""
    parts = PurePosixPath(member.filename).parts
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    return not member.is_dir() and not hidden


def _member_chunks(pack: zipfile.ZipFile, member: zipfile.ZipInfo) -> Chunks:
    try:
        check_compression(member)
        with pack.open(member) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk
    # Damaged zip files make the standard library fail in too many ways to list.
    except Exception as error:
        raise DamagedStreamError(f"{type(error).__name__}: {str(error)[:200]}") from None


def _file_chunks(path: Path) -> Chunks:
    with FileIO(path) as file:
        if is_pipe(file):
            yield from pipe_chunks(file)
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def is_pipe(file: FileIO) -> bool:
    """Return whether a file is a pipe, a terminal or the like, whose content comes bit by bit."""
    mode = os.fstat(file.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def pipe_chunks(file: FileIO) -> Chunks:
    """The content of a pipe; an empty chunk whenever it has a pause."""
    while True:
        if not select.select([file], [], [], 0)[0]:
            yield b""
            select.select([file], [], [])
        chunk = file.read(CHUNK_BYTES)
        if chunk is None:
            continue  # a non-blocking pipe from which another process read first
        if not chunk:
            return
        yield chunk


def in_utf8(chunks: Chunks) -> Chunks:
    """Text as UTF-8 without a byte order mark; text in UTF-16 must have one."""
    marks = tuple(BYTE_ORDER_MARKS)
    head = yield from read_head(chunks, lambda data: starts_with_any(data, marks) is not None)
    mark = next((mark for mark in marks if head.startswith(mark)), b"")
    encoding = BYTE_ORDER_MARKS.get(mark)
    rest = followed_by(head[len(mark) :], chunks)
    if encoding is None:
        yield from rest
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for chunk in rest:
            text = decoder.decode(chunk).encode()
            if text or not chunk:
                yield text
        decoder.decode(b"", final=True)
    except UnicodeError as error:
        raise DamagedStreamError(f"it begins as UTF-16, but {error}") from None
