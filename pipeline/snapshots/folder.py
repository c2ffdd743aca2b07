"""A folder of snapshots. A crash never damages one, and damaged files are skipped.

A snapshot is written to a temporary file and flushed to the disk. Then the file is renamed and the
folder is flushed. After a crash before the renaming, the older snapshots are still there. After a
crash behind it, the new snapshot is complete.
"""

from __future__ import annotations

import os
import secrets
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import DamagedError, pack_into, read_content, unpack
from pipeline.storage.output_files import GROUP, NEW

KIND = b"WRSN"
VERSION = 2
SUFFIX = ".wirerank"


def read_snapshot(path: Path) -> Snapshot:
    """Read a snapshot, or raise `DamagedError`."""
    return Snapshot(*unpack(path.read_bytes(), KIND, VERSION, str(path)))


def read_description(path: Path) -> Snapshot:
    """Read a snapshot without its arrays: much faster, but the checksum is not verified."""
    with path.open("rb") as file:
        return Snapshot(read_content(file, KIND, VERSION, str(path)), {})


class SnapshotFolder:
    """The newest snapshots of each lane of a stream.

    Several workers may share a folder; each writes the snapshots of its own lanes.
    """

    def __init__(self, path: Path, keep: int = 3) -> None:
        self.path = path
        self.keep = keep
        path.mkdir(parents=True, exist_ok=True)

    def write(self, snapshot: Snapshot) -> Path:
        """Write a snapshot and remove those that are no longer needed."""
        lanes = zlib.crc32("\n".join(snapshot.lanes).encode())
        path = self.path / f"{snapshot.position:020d}-{lanes:08x}{SUFFIX}"
        partial = path.with_suffix(f".{secrets.token_hex(8)}.partial-{os.getpid()}")
        try:
            with os.fdopen(os.open(partial, os.O_RDWR | NEW, GROUP), "w+b") as file:
                pack_into(file, KIND, VERSION, snapshot.content, snapshot.arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self._remove_old()
        return path

    def files(self) -> list[Path]:
        """Return the snapshots in the folder, newest first."""
        return sorted(self.path.glob(f"*{SUFFIX}"), reverse=True)

    def descriptions(self, damaged: list[str]) -> Iterator[tuple[Path, Snapshot]]:
        """Yield the snapshots without arrays, newest first; add problems to `damaged`."""
        for path in self.files():
            try:
                yield path, read_description(path)
            except FileNotFoundError:
                continue  # another worker has just removed it
            except (DamagedError, OSError) as error:
                damaged.append(str(error))

    def newest(self, damaged: list[str]) -> Snapshot | None:
        """Return the newest valid snapshot; add the problems of newer ones to `damaged`."""
        for path in self.files():
            try:
                return read_snapshot(path)
            except DamagedError as error:
                damaged.append(str(error))
        return None

    def _remove_old(self) -> None:
        """Remove a file if each of its lanes is in at least `keep` newer files.

        A file marked as passing is only needed until one newer file has its lanes.
        """
        newer: Counter[str] = Counter()
        for path, snapshot in self.descriptions([]):
            passing = snapshot.content.get("passing", False)
            if all(newer[lane] >= (1 if passing else self.keep) for lane in snapshot.lanes):
                path.unlink(missing_ok=True)
            if not passing:
                newer.update(snapshot.lanes)
        for abandoned in self.path.glob("*.partial-*"):
            if not is_alive(int(abandoned.suffix.removeprefix(".partial-") or 0)):
                abandoned.unlink(missing_ok=True)


def is_alive(pid: int) -> bool:
    """Return whether a process with this number runs on this machine."""
    return Path(f"/proc/{pid}").exists()
