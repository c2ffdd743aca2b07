"""Files of models: written whole or not at all, and read only if every byte is as it was written.

A model is written to a temporary file beside its place and flushed to the disk. Then the file is
renamed and the folder is flushed. A crash leaves the old model or the new one, and perhaps the
temporary file. Its writer holds a lock on it, which ends with the process. So the next save knows
that nobody needs it, and removes it.
"""

from __future__ import annotations

import fcntl
import io
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO

import orjson

from pipeline.errors import UsageError
from pipeline.models.model import Model, model_of
from pipeline.release import release
from pipeline.snapshots.content import describe
from pipeline.snapshots.folder import KIND, VERSION
from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import LENGTH, PREFIX, DamagedError, pack_into, unpack
from pipeline.storage.output_files import GROUP, NEW, PARTIAL, naming, replaced_mode

LEARNER_KIND = b"WRLN"  # see `pipeline/learner_files.py`

LONGEST_NAME = 200  # bytes of a name that a temporary file takes over


def write_model(path: Path, snapshot: Snapshot) -> None:
    """Replace a file by a model. After an error or a crash the file is as it was before."""
    with naming(path):
        remove_abandoned(path)
        before = replaced_mode(path)
        partial = path.with_name(f"{partial_prefix(path)}{secrets.token_hex(8)}{PARTIAL}")
        try:
            with os.fdopen(os.open(partial, os.O_RDWR | NEW, GROUP), "w+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if before is not None:
                    os.fchmod(file.fileno(), before)
                pack_into(file, KIND, VERSION, snapshot.content, snapshot.arrays)
                file.flush()
                os.fsync(file.fileno())
                os.replace(partial, path)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
        flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def partial_prefix(path: Path) -> str:
    """Return how the names of temporary files of a model begin."""
    return f".{os.fsdecode(os.fsencode(path.name)[:LONGEST_NAME])}."


def remove_abandoned(path: Path) -> None:
    """Remove the temporary files of a model whose writers died."""
    prefix, digits = partial_prefix(path), 16
    length = len(prefix) + digits + len(PARTIAL)
    with os.scandir(path.parent) as entries:
        names = [
            entry.name
            for entry in entries
            if entry.name.startswith(prefix)
            and entry.name.endswith(PARTIAL)
            and len(entry.name) == length
            and entry.is_file(follow_symlinks=False)
        ]
    for name in names:
        with suppress(OSError):  # locked by its writer, or gone
            descriptor = os.open(path.with_name(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.with_name(name).unlink()
            finally:
                os.close(descriptor)


def read_model(path: Path) -> Model:
    """Read a model.

    Raises UsageError if the file cannot be read or is no model, `DamagedError` if it is damaged.
    """
    return model_of(read_whole(path))


def read_whole(path: Path) -> Snapshot:
    """Read all of a file that holds a model or a snapshot; errors are those of `read_model`."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path} is not a file; expected a model, as --save writes it.")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"The model {path} cannot be read: {error.strerror}.") from None
    check_kind(path, data[: len(KIND)])
    check_version(path, io.BytesIO(data))
    content, arrays = unpack(data, KIND, VERSION, str(path))
    describe(content, str(path))
    return Snapshot(content, arrays, str(path))


def check_kind(path: Path, first: bytes) -> None:
    """Raise an error that tells an empty file and a file of another kind from a damaged model."""
    if not first:
        raise DamagedError(f"{path} is empty; expected a model, as --save writes it")
    if first == LEARNER_KIND:
        raise UsageError(
            f"{path} is a learner that was saved from Python, without the terms of texts: "
            "`pipeline.load` reads it. `wirerank replay SOURCE --save MODEL` writes models."
        )
    if first != KIND[: len(first)]:
        raise UsageError(
            f"{path} is not a model: it begins with {first!r}, and a model with {KIND!r}. "
            "`wirerank replay SOURCE --save MODEL` writes one."
        )


def check_version(path: Path, file: IO[bytes]) -> None:
    """Raise `DamagedError` if another version of the program wrote a model, and name that version.

    A byte of the version that was damaged is told apart from that: then the rest names no release.
    """
    prefix = file.read(PREFIX.size + LENGTH.size)
    if len(prefix) < PREFIX.size + LENGTH.size:
        return  # `unpack` says that it is cut off
    _, actual, _, _ = PREFIX.unpack_from(prefix)
    if actual == VERSION:
        return
    (length,) = LENGTH.unpack_from(prefix, PREFIX.size)
    try:
        writer = str(orjson.loads(file.read(length))["content"]["model"]["release"])
    except (orjson.JSONDecodeError, LookupError, TypeError):
        return  # `unpack` says which version it is
    if writer != release():
        raise DamagedError(
            f"{path} has version {actual} and was written by Wirerank {writer}; this is Wirerank "
            f"{release()}, which reads version {VERSION}: use Wirerank {writer}"
        )
