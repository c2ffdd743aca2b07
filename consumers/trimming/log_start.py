"""Where a lane can begin although the log's first records are gone, and who may look or change it.

A reader of the log must know which source offsets the records before its first one covered. So
before records are deleted, a file with these offsets, a *mark*, is written to the snapshot folder
of the stream. Snapshots know the same for their own positions.

One lock per stream makes sure that no record is deleted while a lane looks for its beginning. The
lock is free again when its process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from consumers.kafka.log_reader import LogDescription
from pipeline.follower import checked_coverage
from pipeline.log.coverage import Coverage
from pipeline.snapshots.content import damage_of, text, whole
from pipeline.storage.container import DamagedError, pack_into, unpack
from pipeline.storage.output_files import GROUP, replacing

KIND = b"WRLM"
VERSION = 1
MARK = re.compile(r"[0-9]{20}\.log-mark")
LOCK_FILE = "log.lock"
LOCK_SECONDS = 60.0
POLL_SECONDS = 0.1


class LogMark(NamedTuple):
    """An offset of a log, and the source offsets that the records before it cover."""

    position: int
    coverage: list[list[Any]]  # see `Coverage.state`
    log: str  # the identity of the log

    def mark(self) -> LogMark:
        """Itself: a snapshot is a mark, too, but has to be read first."""
        return self

    def new_coverage(self) -> Coverage:
        """The coverage, for a follower to go on with."""
        return Coverage.from_state(self.coverage)


class LogBusyError(Exception):
    """Another process trims the log, or looks for the beginning of a lane."""


@contextmanager
def log_lock(stream_folder: Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock of a stream's log; raises `LogBusyError` if it is not free in time."""
    stream_folder.mkdir(parents=True, exist_ok=True)
    path = stream_folder / LOCK_FILE
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, GROUP)
    try:
        until = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise LogBusyError(
                        f"{path} is locked: another process trims the log, or looks for the "
                        "beginning of a lane. Try again in a moment."
                    ) from None
                time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def write_mark(stream_folder: Path, mark: LogMark) -> None:
    """Write a mark; it is on the disk afterwards."""
    path = stream_folder / f"{mark.position:020d}.log-mark"
    with replacing(path, GROUP, flush=True) as file:
        pack_into(file, KIND, VERSION, mark._asdict(), {})
    folder = os.open(stream_folder, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_marks(stream_folder: Path, log: LogDescription, damaged: list[str]) -> list[LogMark]:
    """The marks of a log that its records still follow, oldest first."""
    try:
        names = sorted(name for name in os.listdir(stream_folder) if MARK.fullmatch(name))
    except FileNotFoundError:
        return []
    marks = []
    for name in names:
        path = stream_folder / name
        try:
            mark = decode_mark(path.read_bytes(), str(path))
        except FileNotFoundError:
            continue  # another process has just removed it
        except (DamagedError, OSError) as error:
            damaged.append(str(error))
            continue
        if mark.log == log.identity and log.first <= mark.position <= log.end:
            marks.append(mark)
    return marks


def decode_mark(data: bytes, name: str) -> LogMark:
    """Decode a mark, or raise `DamagedError`."""
    content, _ = unpack(data, KIND, VERSION, name)
    with damage_of(name):
        coverage = checked_coverage(content["coverage"])
        return LogMark(whole(content["position"]), coverage, text(content["log"]))


def remove_marks_before(stream_folder: Path, position: int) -> None:
    """Remove marks of offsets that the log no longer has."""
    for name in os.listdir(stream_folder):
        if MARK.fullmatch(name) and int(name[:20]) < position:
            with suppress(OSError):
                (stream_folder / name).unlink()
