"""Memory that the shards of a lane share, if they run on one machine and for one user.

It is a file in a folder of the user below /dev/shm, which is memory. A lock that the system frees
when a process ends, however it ends, tells which shards are there. The first to come begins with
empty memory. A shard that comes back while others are there finds what they, and it, have written.

Shards in containers, or on several machines, do not see each other there. They take their segments
by exchanges.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from learners.sharding.meeting_place import arrays_in, bytes_for

MEMORY = Path("/dev/shm")  # noqa: S108


class PlaceError(OSError):
    """There is no memory that shards could share; the message says why."""


class SharedPlace:
    """One shard's access to the memory of its lane, from `open` to `close`."""

    def __init__(self, name: str, shard: int, shards: int, folder: Path | None = None) -> None:
        """Open the memory called `name`; raises OSError if there is none for this shard."""
        self._shard = shard
        folder = users_folder() if folder is None else folder
        self._path = folder / f"{name}.memory"
        self._files: list[int] = []  # a lock for all that happens here, and one of each shard
        try:
            for suffix in ("lock", *range(shards)):
                self._files.append(open_file(folder / f"{name}.{suffix}"))
            with self._alone():
                self._memory = self._open_memory(shards)
        except BaseException:
            self._close_files()
            raise
        self.arrays = arrays_in(memoryview(self._memory), shards)

    def _open_memory(self, shards: int) -> mmap.mmap:
        path = self._path
        is_first = not any(self._is_here(shard) for shard in range(shards))
        if not self._lock(self._shard):
            raise PlaceError(f"{path} is used by another process as shard {self._shard}")
        size = bytes_for(shards)
        file = open_file(path)
        try:
            if is_first:
                os.truncate(file, 0)
                # Memory that is only promised would end the process when it is used.
                os.posix_fallocate(file, 0, size)
            if os.fstat(file).st_size != size:
                raise PlaceError(f"{path} has another size than {size:,} bytes")
            return mmap.mmap(file, size)
        finally:
            os.close(file)

    def everyone_is_here(self) -> bool:
        """Whether all shards have opened this memory."""
        with self._alone():
            return all(self._is_here(n) for n in range(len(self._files) - 1) if n != self._shard)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let no other process look at the locks of the shards meanwhile."""
        fcntl.flock(self._files[0], fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._files[0], fcntl.LOCK_UN)

    def _is_here(self, shard: int) -> bool:
        if not self._lock(shard):
            return True
        fcntl.flock(self._files[1 + shard], fcntl.LOCK_UN)
        return False

    def _lock(self, shard: int) -> bool:
        try:
            fcntl.flock(self._files[1 + shard], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Leave the memory; the last one to leave removes it."""
        with self._alone():
            fcntl.flock(self._files[1 + self._shard], fcntl.LOCK_UN)
            if not any(self._is_here(shard) for shard in range(len(self._files) - 1)):
                self._path.unlink(missing_ok=True)
        self._close_files()

    def _close_files(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []


def users_folder() -> Path:
    """The folder of this user; raises OSError if there is none that nobody else can write to."""
    if not MEMORY.is_dir():
        raise PlaceError(f"there is no {MEMORY}")
    folder = MEMORY / f"wirerank-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PlaceError(f"{folder} is not a folder that only this user can use")
    return folder


def open_file(path: Path) -> int:
    """Open a file, or create it."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
