"""Memory that the shards of a lane share, if they run on one machine and for one user.

It is a file in a folder of the user below /dev/shm, which is memory. A lock that the system frees
when a process ends, however it ends, tells which shards are there. The first to come begins with
empty memory, and removes memory of other lanes that was left behind. A shard that comes back while
others are there finds what they, and it, have written.

Shards in containers, or on several machines, do not see each other there. They take their segments
by exchanges.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
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
        remove_unused(folder, name)
        self._path = folder / f"{name}.memory"
        self._files: list[int] = []  # a lock for all that happens here, and one of each shard
        try:
            for suffix in ("lock", *range(shards)):
                self._files.append(open_file(folder / f"{name}.{suffix}"))
            with alone(self._files[0]):
                self._memory = self._open_memory(shards)
        except BaseException:
            self._close_files()
            raise
        self.arrays = arrays_in(memoryview(self._memory), shards)

    def _open_memory(self, shards: int) -> mmap.mmap:
        path = self._path
        is_first = not any(self._is_here(shard) for shard in range(shards))
        if not lock(self._files[1 + self._shard]):
            raise PlaceError(f"{path} is used by another process as shard {self._shard}")
        size = bytes_for(shards)
        if is_first:  # a new file: if somebody uses the old one after all, it does no harm
            path.unlink(missing_ok=True)
        file = open_file(path)
        try:
            if is_first:
                # Memory that is only promised would end the process when it is used.
                os.posix_fallocate(file, 0, size)
            if os.fstat(file).st_size != size:
                raise PlaceError(f"{path} has another size than {size:,} bytes")
            return mmap.mmap(file, size)
        finally:
            os.close(file)

    def everyone_is_here(self) -> bool:
        """Whether all shards have opened this memory."""
        with alone(self._files[0]):
            return all(self._is_here(n) for n in range(len(self._files) - 1) if n != self._shard)

    def _is_here(self, shard: int) -> bool:
        return is_locked(self._files[1 + shard])

    def close(self) -> None:
        """Leave the memory; the last one to leave removes it."""
        with alone(self._files[0]):
            fcntl.flock(self._files[1 + self._shard], fcntl.LOCK_UN)
            if not any(self._is_here(shard) for shard in range(len(self._files) - 1)):
                self._path.unlink(missing_ok=True)
        self._close_files()

    def _close_files(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []


@contextmanager
def alone(file: int) -> Iterator[None]:
    """Hold the lock for all that happens in a place: nobody else looks at the shards' locks."""
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def lock(file: int) -> bool:
    """Take the lock of a shard; return whether it was free."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_locked(file: int) -> bool:
    """Whether the lock of a shard is taken."""
    if not lock(file):
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def remove_unused(folder: Path, name: str) -> None:
    """Remove the memory of all other lanes whose shards have ended without removing it."""
    for memory in folder.glob("*.memory"):
        if memory.stem == name:
            continue
        with ExitStack() as stack:
            files = [folder / f"{memory.stem}.lock", *folder.glob(f"{memory.stem}.[0-9]*")]
            opened = [open_file(path) for path in files]
            for file in opened:
                stack.callback(os.close, file)
            stack.enter_context(alone(opened[0]))
            if not any(map(is_locked, opened[1:])):
                memory.unlink(missing_ok=True)


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
