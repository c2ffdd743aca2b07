"""Reads tar archives that may be hostile, with bounds on memory and on work.

The standard library trusts archives: it reads headers into memory whatever size they state, keeps
every header it has read, copies global headers for each member, and takes a damaged header for the
end of the archive. A compressed archive of some hundred kilobytes can fill gigabytes in each of
these ways. So the headers of a member, the number of members and the whole length are limited, and
an archive must have an end.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pipeline.corpora.packed import CHUNK_BYTES, UnpackedFile, is_packed
from pipeline.corpora.source import SourceError

MAX_SKIPPED_BYTES = 4 * 2**30  # of an archive, unpacked, with the members that nobody wants
MAX_MEMBERS = 100_000  # 20 Newsgroups has 20,000
MAX_HEADER_BYTES = 1 << 20  # of one member: long names, sparse files, attributes
MAX_GLOBAL_HEADERS = 100  # `git archive` writes one


class BoundedFile:
    """A file for `tarfile` that refuses large headers and long ways to the next one."""

    def __init__(self, file: IO[bytes] | UnpackedFile) -> None:
        self._file = file
        self._left = 0
        self.allow(MAX_HEADER_BYTES)

    def allow(self, size: int) -> None:
        """Let this many bytes be read from now on, and those of a few blocks."""
        self._left = size + 4 * tarfile.BLOCKSIZE

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes; an error if that is more than allowed."""
        if not 0 <= size <= self._left:
            raise tarfile.ReadError(
                f"a header states a size of {size:,} bytes, or a member has headers of more than "
                f"{MAX_HEADER_BYTES:,} bytes"
            )
        self._left -= size
        return self._file.read(size)

    def seek(self, place: int) -> int:
        """Go to a place; an error if it is too far away."""
        if place > MAX_SKIPPED_BYTES:
            raise tarfile.ReadError(f"there are more than {MAX_SKIPPED_BYTES:,} bytes in it")
        return self._file.seek(place)

    def tell(self) -> int:
        """Return the place in the file."""
        return self._file.tell()

    def check_end(self, place: int) -> None:
        """Raise an error unless the archive ends here, and its compressed file is undamaged."""
        self.seek(place)
        block = self._file.read(tarfile.BLOCKSIZE)
        if not block:
            raise tarfile.ReadError("the archive is cut off: it has no end")
        if block.strip(b"\0"):
            raise tarfile.ReadError(f"the header at byte {place:,} is damaged")
        while self._file.read(CHUNK_BYTES):  # the checksum of a compressed file is at its end
            self.seek(self.tell())


@contextmanager
def open_tar(archive: Path) -> Iterator[tuple[tarfile.TarFile, BoundedFile]]:
    """Open a tar archive, compressed or not."""
    with archive.open("rb") as packed:
        compressed = is_packed(packed.read(6))
        packed.seek(0)
        file = BoundedFile(UnpackedFile(packed) if compressed else packed)
        with tarfile.open(fileobj=file, mode="r:") as tar:  # type: ignore[call-overload]
            yield tar, file


def is_tar(archive: Path) -> bool:
    """Return whether a file begins like a tar archive."""
    try:
        with open_tar(archive):
            return True
    except Exception:  # whatever it is, it is not a tar archive
        return False


def tar_members(archive: Path) -> Iterator[tuple[tarfile.TarInfo, Callable[[], bytes]]]:
    """Yield the members of an archive in one pass, each with a function that reads it.

    The function is for the member that was yielded last.
    """
    count = behind = 0
    with open_tar(archive) as (tar, file):
        while (member := tar.next()) is not None:
            count += 1
            # A negative size, which a header can state, would lead back to the same header.
            if member.size < 0 or tar.offset <= behind:
                raise tarfile.ReadError("a member ends before it begins")
            if count > MAX_MEMBERS:
                raise SourceError(
                    f"{archive} has more than {MAX_MEMBERS:,} members, too many to read from the "
                    "archive: unpack it and name the folder instead"
                )
            if len(tar.pax_headers) > MAX_GLOBAL_HEADERS:
                raise tarfile.ReadError(f"it has more than {MAX_GLOBAL_HEADERS} global headers")
            behind = tar.offset
            tar.members.clear()  # type: ignore[attr-defined] # `tarfile` would keep them all

            def read(member: tarfile.TarInfo = member) -> bytes:
                file.allow(member.size)
                content = tar.extractfile(member)
                return b"" if content is None else content.read()

            yield member, read
            file.allow(MAX_HEADER_BYTES)
        file.check_end(tar.offset)
