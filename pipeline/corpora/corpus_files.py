"""Reads the files of a corpus from a folder, or in place from a tar or zip archive.

Nothing is ever unpacked to disk: an archive's members are only read, so their names can point
nowhere. Links are ignored in both, and what one file and one archive may hold is bounded, so that
a damaged or hostile archive ends in an error and not in a full memory.
"""

from __future__ import annotations

import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Protocol

from pipeline.corpora.source import SourceError

MAX_FILE_BYTES = 64 * 2**20
MAX_ARCHIVE_BYTES = 2**30
MAX_DEPTH = 4

# Damage shows up as any of these, depending on the compression and on where the file is broken.
# A zip that is encrypted or packed in an unknown way is a RuntimeError.
DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
)


class Files(Protocol):
    """The wanted files of a corpus by their names: relative, with forward slashes, sorted."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every file there is to read."""

    def read(self, name: str) -> bytes:
        """The content of one of them."""


class OpenableFiles(Files, Protocol):
    """Files that need not be read at once."""

    def open(self, name: str) -> IO[bytes]:
        """One of them to be read bit by bit: of a folder, it may be of any length."""


class FolderFiles:
    """Files below a folder, each read when it is asked for."""

    def __init__(self, folder: Path, wanted: Callable[[str], bool]) -> None:
        self._folder = folder
        try:
            self.names = tuple(sorted(name for name in _walk(folder) if wanted(name)))
        except OSError as error:
            raise SourceError(f"{folder} cannot be listed: {error}; check its rights") from error

    def read(self, name: str) -> bytes:
        """Read one file, within the limit."""
        path = self._folder / name
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error}; check its rights") from error
        _check_size(str(path), len(data))
        return data

    def open(self, name: str) -> IO[bytes]:
        """Open one file, whatever its length."""
        path = self._folder / name
        try:
            return path.open("rb")
        except OSError as error:
            raise SourceError(f"{path} cannot be read: {error}; check its rights") from error


class ArchiveFiles:
    """Files of an archive, held in memory: going back in a compressed archive is too slow."""

    def __init__(self, archive: Path, wanted: Callable[[str], bool]) -> None:
        try:
            # A tar archive whose last member is a zip file ends like one.
            zipped = zipfile.is_zipfile(archive) and not tarfile.is_tarfile(archive)
            members = _zipped if zipped else _members
            self._data = dict(sorted(members(archive, wanted)))
        except DAMAGE as error:
            raise SourceError(
                f"{archive} cannot be read as an archive ({type(error).__name__}: {error}); "
                "expected a folder or a whole .tar, .tar.gz, .tar.xz or .zip: fetch it again"
            ) from error

    @property
    def names(self) -> tuple[str, ...]:
        """Every wanted member."""
        return tuple(self._data)

    def read(self, name: str) -> bytes:
        """The content of one member."""
        return self._data[name]

    def open(self, name: str) -> IO[bytes]:
        """One member, which is in memory."""
        return io.BytesIO(self._data[name])


def open_files(path: Path, wanted: Callable[[str], bool]) -> OpenableFiles:
    """Open a folder or an archive; `wanted` picks files by their relative name."""
    if path.is_dir():
        return FolderFiles(path, wanted)
    if path.is_file():
        return ArchiveFiles(path, wanted)
    raise SourceError(
        f"{path} does not exist; expected the corpus's folder or its .tar.gz, .tar.xz or .zip "
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
    """Yield name and content of the wanted regular files, in one pass over a tar archive."""
    total = 0
    with tarfile.open(archive) as tar:
        for member in tar:
            name = _wanted_name(member.name, wanted)
            if not member.isreg() or name is None:
                continue
            _check_size(f"{archive}: {name}", member.size)
            total += member.size
            _check_total(archive, total)
            file = tar.extractfile(member)
            if file is not None:
                yield name, file.read()


def _zipped(archive: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """The same for a zip archive, which may hold more than it says."""
    total = 0
    with zipfile.ZipFile(archive) as pack:
        for member in pack.infolist():
            name = _wanted_name(member.filename, wanted)
            if member.is_dir() or name is None:
                continue
            with pack.open(member) as file:
                data = file.read(MAX_FILE_BYTES + 1)
            _check_size(f"{archive}: {name}", len(data))
            total += len(data)
            _check_total(archive, total)
            yield name, data


def _wanted_name(path: str, wanted: Callable[[str], bool]) -> str | None:
    """The name of a member, if it is one to read."""
    parts = PurePosixPath(path).parts
    name = "/".join(parts)
    hidden = any(part.startswith(".") for part in parts)
    return None if hidden or len(parts) > MAX_DEPTH or not wanted(name) else name


def _check_total(archive: Path, total: int) -> None:
    """Refuse an archive that no memory should hold."""
    if total > MAX_ARCHIVE_BYTES:
        raise SourceError(
            f"{archive} holds more than {MAX_ARCHIVE_BYTES:,} bytes, too much to read in "
            "place: unpack it and name the folder instead"
        )


def _check_size(name: str, size: int) -> None:
    """Refuse a file that no known corpus would have."""
    if size > MAX_FILE_BYTES:
        raise SourceError(
            f"{name} is larger than {MAX_FILE_BYTES:,} bytes, which no file of this corpus is; "
            "check that this is the right folder or archive"
        )
