"""Reads the files of a corpus from a folder, or directly from a tar or zip archive.

Archives are never unpacked to disk, so names of their members cannot lead anywhere. Links are
ignored in folders and archives. The size of a file and of an archive is limited, so a damaged or
hostile archive causes an error and does not fill the memory.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from pipeline.corpora.source import SourceError
from pipeline.corpora.tar_archive import is_tar, tar_members

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip")

MAX_FILE_BYTES = 64 * 2**20
MAX_ARCHIVE_BYTES = 2**30
MAX_DEPTH = 4

# LZMA in a zip file allocates as much memory as the file asks for, up to 4 GiB. The output of a few
# kilobytes of bzip2 is not limited by `zipfile`, and may be as large.
ZIP_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@contextmanager
def damage_reported(start: str, advice: str) -> Iterator[None]:
    """Turn whatever the readers of archives raise into a `SourceError`.

    Damaged archives make the standard library fail in too many ways to list: its own errors, those
    of each compression, and ValueError, struct.error, RuntimeError (encrypted), OverflowError and
    others where a field is not what it should be.
    """
    try:
        yield
    except (SourceError, MemoryError):
        raise
    except Exception as error:
        reason = str(error)[:200]
        raise SourceError(f"{start} ({type(error).__name__}: {reason}); {advice}") from error


class Files(Protocol):
    """The files of a corpus by name; names are relative, with forward slashes, and sorted."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all files."""

    def read(self, name: str) -> bytes:
        """The content of a file."""


class OpenableFiles(Files, Protocol):
    """Files that can also be read piece by piece."""

    def open(self, name: str) -> IO[bytes]:
        """Open a file for reading; a file of a folder may have any length."""


class FolderFiles:
    """Files below a folder, read on demand."""

    def __init__(self, folder: Path, wanted: Callable[[str], bool]) -> None:
        self._folder = folder
        try:
            self.names = tuple(sorted(name for name in _walk(folder) if wanted(name)))
        except OSError as error:
            raise SourceError(
                f"{folder} cannot be listed: {error}; check its permissions"
            ) from error

    def read(self, name: str) -> bytes:
        """Read one file; an error if it is larger than the limit."""
        path = self._folder / name
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error}; check its permissions") from error
        _check_size(str(path), len(data))
        return data

    def open(self, name: str) -> IO[bytes]:
        """Open one file of any length."""
        path = self._folder / name
        try:
            return path.open("rb")
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error}; check its permissions") from error


class ArchiveFiles:
    """Files of an archive, kept in memory, because seeking in a compressed archive is slow."""

    def __init__(self, archive: Path, wanted: Callable[[str], bool]) -> None:
        with damage_reported(
            f"{archive} cannot be read as an archive",
            "expected a folder or a complete .tar, .tar.gz, .tar.xz or .zip file: fetch it again",
        ):
            # A tar archive whose last member is a zip file also looks like a zip file.
            zipped = zipfile.is_zipfile(archive) and not is_tar(archive)
            members = _zipped if zipped else _members
            self._data = dict(sorted(members(archive, wanted)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all wanted members."""
        return tuple(self._data)

    def read(self, name: str) -> bytes:
        """The content of one member."""
        return self._data[name]

    def open(self, name: str) -> IO[bytes]:
        """Open one member, from memory."""
        return io.BytesIO(self._data[name])


def open_files(path: Path, wanted: Callable[[str], bool]) -> OpenableFiles:
    """Open a folder or an archive; `wanted` selects files by their relative names."""
    if path.is_dir():
        return FolderFiles(path, wanted)
    if path.is_file():
        return ArchiveFiles(path, wanted)
    raise SourceError(
        f"{path} does not exist; expected the folder of the corpus or its .tar.gz, .tar.xz or .zip "
        "archive (`wirerank corpora` says where to get it)"
    )


def _walk(folder: Path) -> Iterator[str]:
    """Yield the relative names of all regular files, without following links."""
    pending = [""]
    while pending:
        inside = pending.pop()
        with os.scandir(folder / inside) as entries:
            for entry in entries:
                name = f"{inside}/{entry.name}" if inside else entry.name
                if entry.name.startswith("."):
                    continue
                if entry.is_file(follow_symlinks=False):
                    yield name
                elif entry.is_dir(follow_symlinks=False) and name.count("/") < MAX_DEPTH - 1:
                    pending.append(name)


def _members(archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the wanted regular files of a tar archive, in one pass."""
    total = 0
    for member, read in tar_members(archive):
        name = _wanted_name(member.name, wanted)
        if not member.isreg() or name is None:
            continue
        _check_size(f"{archive}: {name}", member.size)
        total += member.size
        _check_total(archive, total)
        yield name, read()


def _zipped(archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """The same for a zip archive, whose stated sizes may be wrong."""
    total = 0
    with zipfile.ZipFile(archive) as pack:
        for member in pack.infolist():
            name = _wanted_name(member.filename, wanted)
            if member.is_dir() or name is None:
                continue
            check_compression(member)
            with pack.open(member) as file:
                data = file.read(MAX_FILE_BYTES + 1)
            _check_size(f"{archive}: {name}", len(data))
            total += len(data)
            _check_total(archive, total)
            yield name, data


def check_compression(member: zipfile.ZipInfo) -> None:
    """Refuse a member of a zip file whose compression may need any amount of memory."""
    if member.compress_type not in ZIP_COMPRESSIONS:
        raise zipfile.BadZipFile(
            f"a member has compression {member.compress_type}; only stored and deflated members "
            "are read"
        )


def _wanted_name(path: str, wanted: Callable[[str], bool]) -> str | None:
    """The name of a member, if it is wanted."""
    parts = PurePosixPath(path).parts
    name = "/".join(parts)
    hidden = any(part.startswith(".") for part in parts)
    return None if hidden or len(parts) > MAX_DEPTH or not wanted(name) else name


def _check_total(archive: Path, total: int) -> None:
    """Refuse an archive that is too large for memory."""
    if total > MAX_ARCHIVE_BYTES:
        raise SourceError(
            f"{archive} holds more than {MAX_ARCHIVE_BYTES:,} bytes, too much to read from the "
            "archive: unpack it and name the folder instead"
        )


def _check_size(name: str, size: int) -> None:
    """Refuse a file that is larger than any file of a known corpus."""
    if size > MAX_FILE_BYTES:
        raise SourceError(
            f"{name} is larger than {MAX_FILE_BYTES:,} bytes, but no file of this corpus is that "
            "large; check that this is the right folder or archive"
        )
