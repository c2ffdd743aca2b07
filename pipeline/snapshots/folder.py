"""A folder of snapshots: written so that a crash leaves a whole one, read with doubt.

The order of writing is: the whole file under another name, flushed to the disk, then renamed, and
the folder flushed too. A crash before the renaming leaves the older snapshots as they were; one
after it leaves the new one whole. Files that do not check out are passed over for older ones.
"""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import DamagedError, pack_into, read_content, unpack

KIND = b"WRSN"
VERSION = 2
SUFFIX = ".wirerank"


def read_snapshot(path: Path) -> Snapshot:
    """Read one file, or raise `DamagedError`."""
    return Snapshot(*unpack(path.read_bytes(), KIND, VERSION, str(path)))


def read_description(path: Path) -> Snapshot:
    """Read what a file says of itself, without its arrays; much faster, and less certain."""
    with path.open("rb") as file:
        return Snapshot(read_content(file, KIND, VERSION, str(path)), {})


class SnapshotFolder:
    """The last few snapshots of every lane of a stream.

    Several workers may keep theirs in the same folder, each of its own lanes.
    """

    def __init__(self, path: Path, keep: int = 3) -> None:
        self.path = path
        self.keep = keep
        path.mkdir(parents=True, exist_ok=True)

    def write(self, snapshot: Snapshot) -> Path:
        """Keep a snapshot, and let the oldest go."""
        lanes = zlib.crc32("\n".join(snapshot.lanes).encode())
        path = self.path / f"{snapshot.position:020d}-{lanes:08x}{SUFFIX}"
        partial = path.with_suffix(f".partial-{os.getpid()}")
        try:
            with partial.open("wb") as file:
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
        self._forget_old()
        return path

    def files(self) -> list[Path]:
        """The snapshots there are, newest first."""
        return sorted(self.path.glob(f"*{SUFFIX}"), reverse=True)

    def descriptions(self, damaged: list[str]) -> Iterator[tuple[Path, Snapshot]]:
        """What the files say of themselves, newest first; what is wrong goes to `damaged`."""
        for path in self.files():
            try:
                yield path, read_description(path)
            except FileNotFoundError:
                continue  # another worker has just forgotten it
            except (DamagedError, OSError) as error:
                damaged.append(str(error))

    def newest(self, damaged: list[str]) -> Snapshot | None:
        """The newest snapshot that checks out; what is wrong with newer ones goes to `damaged`."""
        for path in self.files():
            try:
                return read_snapshot(path)
            except DamagedError as error:
                damaged.append(str(error))
        return None

    def _forget_old(self) -> None:
        """Remove the files all of whose lanes are in enough newer ones; passing ones in any."""
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


def is_alive(process: int) -> bool:
    """Whether a process of this number runs on this machine."""
    return Path(f"/proc/{process}").exists()
