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
from collections.abc import Callable, Iterator
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


def parts_of(
    path: Path, as_text: bool = True, wanted: Callable[[str], bool] = lambda name: True
) -> Iterator[Chunks]:
    """The wanted members of a zip file, by name, or the only part of any other input.

    `as_text` turns text with a byte order mark into UTF-8.
    """
    if path == STANDARD_INPUT:
        yield pipe_part(FileIO(sys.stdin.fileno(), closefd=False), as_text)
    elif is_zip(path):
        yield from _members(path, as_text, wanted)
    else:
        yield named_part(_file_chunks(path), str(path), as_text)


def pipe_part(file: FileIO, as_text: bool = True) -> Chunks:
    """The content of a pipe."""
    return named_part(pipe_chunks(file), "standard input", as_text)


def is_zip(path: Path) -> bool:
    """Whether a regular file is a zip file, judging by its first bytes."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return False
        with FileIO(path) as file:
            return file.read(4).startswith(ZIP)
    except OSError:
        return False  # reading it reports the error


def named_part(chunks: Chunks, name: str, as_text: bool) -> Chunks:
    """The unpacked content of some chunks; errors name the input."""
    try:
        plain = unpacked(chunks)
        yield from in_utf8(plain) if as_text else plain
    except (DamagedStreamError, zipfile.BadZipFile) as error:
        raise SourceError(
            f"{name} is damaged or cut off: {error}. Everything before that point was processed; "
            "get the file again to read the rest."
        ) from None
    except OSError as error:
        raise SourceError(f"{name} cannot be read: {error.strerror or error}.") from None


def _members(path: Path, as_text: bool, wanted: Callable[[str], bool]) -> Iterator[Chunks]:
    try:
        with zipfile.ZipFile(path) as pack:
            every = (one for one in pack.infolist() if is_file(one) and wanted(one.filename))
            members = sorted(every, key=lambda one: one.filename)
            if len(members) > MAX_MEMBERS:
                raise SourceError(
                    f"{path} has {len(members):,} members; expected at most {MAX_MEMBERS:,}"
                )
            for member in members:
                name = f"{path}: {member.filename[:200]}"
                yield named_part(_member_chunks(pack, member), name, as_text)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise SourceError(f"{path} cannot be read as a zip file: {error}.") from None


def is_file(member: zipfile.ZipInfo) -> bool:
    """Whether a member is a file that a person put there."""
    parts = PurePosixPath(member.filename).parts
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    # `is_dir` of some versions of Python fails on an empty name.
    return not member.filename.endswith("/") and not hidden


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
    if head[257:262] == b"ustar":
        raise SourceError(
            "The input is a tar archive, whose members are not read as events. Unpack it "
            "(`tar -xOf FILE | wirerank replay -`), or write kind:PATH for a corpus."
        )
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
