"""A folder of snapshots. A crash never damages one, and damaged files are skipped.

A snapshot is written to a temporary file and flushed to the disk. Then the file is renamed and the
folder is flushed. After a crash before the renaming, the older snapshots are still there. After a
crash behind it, the new snapshot is complete.

Nothing of a file is believed before its checksum is verified, not even its header: one wrong bit of
the position would move the place where rankings are published. A damaged file stays where it is. It
is not counted among those that are kept, so it never replaces a good one.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pipeline.snapshots.content import Description, describe
from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import (
    MAX_LENGTH,
    ContainerReader,
    DamagedError,
    pack_into,
    unpack,
)
from pipeline.storage.output_files import GROUP, NEW

log = logging.getLogger(__name__)

KIND = b"WRSN"
VERSION = 2
SUFFIX = ".wirerank"
PARTIAL = re.compile(r"[0-9]{20}-[0-9a-f]{8}(?:\.[0-9a-f]{16})?\.partial-([0-9]{1,9})")

Stamp = tuple[int, int, int, int]


def read_snapshot(path: Path) -> Snapshot:
    """Read a snapshot, or raise `DamagedError`."""
    content, arrays = unpack(path.read_bytes(), KIND, VERSION, str(path))
    describe(content, str(path))
    return Snapshot(content, arrays, str(path))


def file_name(position: int, lanes: Sequence[str]) -> str:
    """Return the name of a snapshot's file: names sort by position, and differ by lanes."""
    return f"{position:020d}-{zlib.crc32(chr(10).join(lanes).encode()):08x}{SUFFIX}"


def partial_name(name: str) -> str:
    """Return a name that nobody can guess, for a file until it is complete; see `PARTIAL`."""
    return f"{name.removesuffix(SUFFIX)}.{secrets.token_hex(8)}.partial-{os.getpid()}"


class VerifiedFiles:
    """The descriptions of files that were verified from end to end, until they change.

    A snapshot may have gigabytes, and every new one makes its folder look at the others.
    """

    def __init__(self) -> None:
        self._descriptions: dict[Path, tuple[Stamp, Description]] = {}

    def describe(self, path: Path) -> Description:
        """Return the description of a file, or raise `DamagedError` or OSError."""
        with path.open("rb") as file:
            stamp = stamp_of(os.fstat(file.fileno()))
            known = self._descriptions.get(path.absolute())
            if known is not None and known[0] == stamp:
                return known[1]
            reader = ContainerReader(file, KIND, VERSION, str(path), max_header_bytes=MAX_LENGTH)
        description = describe(reader.content, str(path))
        expected = file_name(description.position, description.lanes)
        if path.name != expected:
            raise DamagedError(
                f"{path} holds the snapshot at offset {description.position} of "
                f"{', '.join(description.lanes)}, and such a file is called {expected}: rename it "
                "if it was given another name"
            )
        self.remember(path, stamp, description)
        return description

    def remember(self, path: Path, stamp: Stamp, description: Description) -> None:
        """Take note of a file that was verified, or written, by this process."""
        self._descriptions[path.absolute()] = stamp, description

    def forget_all_but(self, folder: Path, paths: Sequence[Path]) -> None:
        """Forget the files of a folder that are no longer there."""
        here, kept = folder.absolute(), {path.absolute() for path in paths}
        for path in [path for path in self._descriptions if path.parent == here]:
            if path not in kept:
                self._descriptions.pop(path, None)


VERIFIED = VerifiedFiles()  # of this process: several folders of one stream look at the same files


def stamp_of(status: os.stat_result) -> Stamp:
    """Return numbers that change when a file is written or replaced."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


class SnapshotFolder:
    """The newest snapshots of each lane of a stream.

    Several workers may share a folder; each writes the snapshots of its own lanes.
    """

    def __init__(self, path: Path, keep: int = 3) -> None:
        self.path = path
        self.keep = keep

    def check_writable(self) -> None:
        """Create the folder if it is missing; raise OSError if no file can be written to it."""
        self.path.mkdir(parents=True, exist_ok=True)
        probe = self.path / partial_name(f"{'0' * 20}-{'0' * 8}{SUFFIX}")
        os.close(os.open(probe, os.O_RDWR | NEW, GROUP))
        probe.unlink()

    def write(self, snapshot: Snapshot) -> Path:
        """Write a snapshot and remove those that are no longer needed."""
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / file_name(snapshot.position, snapshot.lanes)
        partial = self.path / partial_name(path.name)
        try:
            with os.fdopen(os.open(partial, os.O_RDWR | NEW, GROUP), "w+b") as file:
                pack_into(file, KIND, VERSION, snapshot.content, snapshot.arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        VERIFIED.remember(path, stamp_of(path.stat()), describe(snapshot.content, str(path)))
        self._remove_old()
        return path

    def files(self) -> list[Path]:
        """Return the snapshots in the folder, newest first; there are none without a folder.

        Folders, pipes and links that lead nowhere are no snapshots, whatever they are called.
        """
        try:
            with os.scandir(self.path) as entries:
                names = [e.name for e in entries if e.name.endswith(SUFFIX) and is_file(e)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [self.path / name for name in sorted(names, reverse=True)]

    def descriptions(self, damaged: list[str]) -> Iterator[tuple[Path, Description]]:
        """Yield the descriptions of good snapshots, newest first; add problems to `damaged`."""
        try:
            files = self.files()
        except OSError as error:
            damaged.append(f"{self.path} cannot be read: {error.strerror}")
            return
        for path in files:
            try:
                yield path, VERIFIED.describe(path)
            except FileNotFoundError:
                continue  # another worker has just removed it
            except (DamagedError, OSError) as error:
                damaged.append(str(error))

    def newest(self, damaged: list[str]) -> Snapshot | None:
        """Return the newest valid snapshot; add the problems of newer ones to `damaged`."""
        for path, _ in self.descriptions(damaged):
            try:
                return read_snapshot(path)
            except FileNotFoundError:
                continue
            except (DamagedError, OSError) as error:
                damaged.append(str(error))
        return None

    def _remove_old(self) -> None:
        """Remove what is no longer needed. The new snapshot is written, whatever happens here."""
        try:
            self._remove_old_snapshots()
            self._remove_abandoned()
        except OSError as error:
            log.warning("old snapshots in %s cannot be removed: %s", self.path, error)

    def _remove_old_snapshots(self) -> None:
        """Remove a file if each of its lanes is in at least `keep` newer files.

        A file marked as passing is only needed until one newer file has its lanes. Damaged files
        stay: they are for a person to examine and to delete.
        """
        newer: Counter[str] = Counter()
        kept = list[Path]()
        for path, description in self.descriptions([]):
            needed = 1 if description.passing else self.keep
            if all(newer[lane] >= needed for lane in description.lanes):
                path.unlink(missing_ok=True)
            else:
                kept.append(path)
            if not description.passing:
                newer.update(description.lanes)
        VERIFIED.forget_all_but(self.path, kept)

    def _remove_abandoned(self) -> None:
        """Remove the temporary files of processes that died."""
        with os.scandir(self.path) as entries:
            files = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        for name in files:
            match = PARTIAL.fullmatch(name)
            if match and not is_alive(int(match[1])):
                (self.path / name).unlink(missing_ok=True)


def is_file(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry of a folder is a file, or a link to one that can be reached."""
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself, or through a folder that is closed to us
        return False


def is_alive(pid: int) -> bool:
    """Return whether a process with this number runs on this machine."""
    return Path(f"/proc/{pid}").exists()
