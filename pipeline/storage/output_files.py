"""Output files: checked before a run begins, written whole or not at all, or appended to.

A file is written under a name that nobody can guess, which must not exist, and is then renamed. No
symbolic link is followed on the way. So nobody who can write to the same folder can make a run
write to another file.

Files with the content of documents are `PRIVATE` (dead letters) or for the `GROUP` (snapshots).
Results that people ask for by name and share (rankings, curves, reports, plots) have the mode that
the umask gives them. A file that is replaced keeps its mode.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pipeline.errors import UsageError

STANDARD_OUTPUT = Path("-")
PRIVATE, GROUP, BY_UMASK = 0o600, 0o640, 0o666
PARTIAL = ".partial"
NEW = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def check_outputs(outputs: Sequence[Path], inputs: Sequence[Path]) -> None:
    """Raise UsageError if an output cannot be written, or would overwrite an input or output."""
    uses = {resolved(path): "read" for path in inputs}
    for path in outputs:
        if path != STANDARD_OUTPUT:
            if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
                raise UsageError(
                    f"{path} cannot be written: {path.parent} is not a folder that you can write "
                    "to. Create the folder or choose another one."
                )
            if path.is_dir():
                raise UsageError(f"{path} is a folder; expected the name of a file to write.")
        use = uses.get(resolved(path))
        if use is not None and path != Path(os.devnull):
            raise UsageError(f"{path} is already {use} by this run; write to another file.")
        uses[resolved(path)] = "written"


def resolved(path: Path) -> Path:
    """Return the file that a path leads to, or raise UsageError if links lead in a circle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # RuntimeError until Python 3.12
        raise UsageError(f"{path} cannot be followed: its links lead in a circle.") from None


def write_whole(path: Path, content: bytes, mode: int = BY_UMASK) -> None:
    """Write a file whole or not at all; the path `-` is standard output."""
    if path == STANDARD_OUTPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    elif path.exists() and not path.is_file():
        with naming(path):
            path.write_bytes(content)  # a device or a pipe must not be replaced by a file
    else:
        with replacing(path, mode) as file:
            file.write(content)


@contextmanager
def replacing(path: Path, mode: int = BY_UMASK, *, flush: bool = False) -> Iterator[IO[bytes]]:
    """Yield a new file, which takes the place of `path` when the block ends without an error.

    `flush`: the content is on the disk before the file has its name.
    """
    before = replaced_mode(path)
    partial = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}{PARTIAL}")
    try:
        with (
            naming(path),
            os.fdopen(os.open(partial, os.O_RDWR | NEW, mode & 0o777), "w+b") as file,
        ):
            if before is not None:
                os.fchmod(file.fileno(), before)
            yield file
            file.flush()
            if flush:
                os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def replaced_mode(path: Path) -> int | None:
    """Return the mode of a file that is to be replaced; None if there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return stat.S_IMODE(status.st_mode) & 0o777 if stat.S_ISREG(status.st_mode) else None


def open_for_lines(path: Path, mode: int = BY_UMASK) -> IO[bytes]:
    """Open a file to append lines. A last line without an end, from a run that died, is ended."""
    with naming(path):
        descriptor = open_unlinked(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, mode)
        try:
            status = os.fstat(descriptor)
            size = status.st_size if stat.S_ISREG(status.st_mode) else 0
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                os.write(descriptor, b"\n")
            return os.fdopen(descriptor, "ab")
        except BaseException:
            os.close(descriptor)
            raise


def open_for_results(path: Path) -> IO[bytes]:
    """Open a file to write results as they come; what was in it is removed."""
    with naming(path):
        return os.fdopen(open_unlinked(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, BY_UMASK), "wb")


def open_unlinked(path: Path, flags: int, mode: int) -> int:
    """Open a file, but not through a symbolic link, unless it leads to a device or a pipe."""
    if path.exists() and not path.is_file():
        # A pipe or a terminal can only be written; /dev/stderr is a link to one.
        flags = flags & ~(os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND) | os.O_WRONLY
        return os.open(path, flags | os.O_CLOEXEC)
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise UsageError(
            f"{path} is a symbolic link, and links are not followed when files are written: name "
            "the file itself."
        ) from None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the name of a file into errors that lack it, such as those of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
