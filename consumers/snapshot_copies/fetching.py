"""Brings copies of snapshots back to a machine that does not have them.

Before a worker recovers, its folder gets the newest intact copy of each of its lanes, if that is
newer than what is there. A copy is verified from end to end before it gets its name in the folder.
A damaged one is logged, and the next older one is tried.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path

from consumers.snapshot_copies.object_store import ObjectStore, StoredObject, StoreError
from consumers.snapshot_copies.uploader import SNAPSHOT_NAME
from pipeline.snapshots.content import Description, describe
from pipeline.snapshots.folder import KIND, VERSION, SnapshotFolder, file_name, partial_name
from pipeline.storage.container import MAX_LENGTH, ContainerReader, DamagedError
from pipeline.storage.output_files import GROUP, NEW

log = logging.getLogger(__name__)

# Former shards are joined where all of them have a snapshot. A crash may leave one of them behind.
FORMER_COPIES = 3
ATTEMPTS = 3  # to download a copy, before an older one is tried


class CopyFetcher:
    """Fetches copies into the folders of one stream; `prefix` is the place of the stream's."""

    def __init__(
        self,
        store: ObjectStore,
        root: Path,
        prefix: str,
        log_identity: str,
        damaged: Callable[[int], None],
        alive: Callable[[], None],
    ) -> None:
        self._store = store
        self._root = root
        self._prefix = prefix
        self._log_identity = log_identity
        self._damaged = damaged  # told how many copies were damaged
        self._alive = alive  # called while a copy is downloaded
        self._failures: Counter[str] = Counter()  # by key

    def fetch(self, folder: Path, lanes: Sequence[str], others: Collection[Path]) -> None:
        """Fetch the newest copy of each lane into a folder, if there is none as new.

        `others` are the folders of former shards. They are needed if the folder then has no
        snapshot of a lane. Raises `StoreError` if the store does not answer.
        """
        objects = self._store.objects(self._prefix)
        if self._fetch_newest(folder, lanes, objects):
            return
        below = {other for other in others if other != folder}
        found = {self._root / Path(one.key.removeprefix(self._prefix)).parent for one in objects}
        for other in sorted(found):
            if any(other == parent or parent in other.parents for parent in below):
                self._fetch_newest(other, lanes, objects, FORMER_COPIES)

    def _fetch_newest(
        self,
        folder: Path,
        lanes: Sequence[str],
        objects: Sequence[StoredObject],
        copies: int = 1,
    ) -> bool:
        """Fetch into one folder; returns whether each lane has a snapshot there."""
        newest = self._local(folder, lanes)
        here = folder.relative_to(self._root).as_posix()
        prefix = self._prefix if here == "." else f"{self._prefix}{here}/"
        sizes = {one.key.removeprefix(prefix): one.size for one in objects}
        useless = set[str]()  # sets of lanes that have none of these
        fetched = 0
        for name in sorted(sizes, reverse=True):
            match = SNAPSHOT_NAME.fullmatch(name)
            if match is None or match[2] in useless:
                continue
            position = int(match[1])
            enough = fetched >= copies - 1
            if enough and all(newest.get(lane, -1) >= position for lane in lanes):
                break
            if (folder / name).exists() and newest:
                fetched += 1
                continue
            found = self._download(prefix + name, sizes[name], folder, lanes)
            if found is None:
                continue
            if not set(lanes) & set(found.lanes):
                useless.add(match[2])
            elif found.log == self._log_identity:
                fetched += 1
                for lane in found.lanes:
                    newest[lane] = max(newest.get(lane, -1), position)
        return all(lane in newest for lane in lanes)

    def _local(self, folder: Path, lanes: Sequence[str]) -> dict[str, int]:
        """By lane: the position of the newest good snapshot in the folder."""
        newest: dict[str, int] = {}
        for _, found in SnapshotFolder(folder).descriptions([]):
            for lane in found.lanes:
                if lane in lanes and found.log == self._log_identity:
                    newest[lane] = max(newest.get(lane, -1), found.position)
        return newest

    def _download(
        self, key: str, size: int, folder: Path, lanes: Sequence[str]
    ) -> Description | None:
        """Download a copy and verify it; it gets its name if it has one of the lanes.

        Returns None if it is damaged.
        """
        folder.mkdir(parents=True, exist_ok=True)
        name = key.rpartition("/")[2]
        partial = folder / partial_name(name)
        try:
            with os.fdopen(os.open(partial, os.O_RDWR | NEW, GROUP), "w+b") as file:
                self._store.read_into(key, file, size, self._alive)
                file.flush()
                os.fsync(file.fileno())
                file.seek(0)
                where = f"{self._store.url}/{key}"
                reader = ContainerReader(file, KIND, VERSION, where, max_header_bytes=MAX_LENGTH)
                found = describe(reader.content, where)
                if name != file_name(found.position, found.lanes):
                    raise DamagedError(f"{where} holds another snapshot than its name says")
            if found.log != self._log_identity:
                log.warning("%s is of another log, and is not used", where)
            elif set(lanes) & set(found.lanes):
                os.replace(partial, folder / name)
                log.info("fetched a copy of a snapshot: %s, %s bytes", where, f"{size:,}")
        except DamagedError as error:
            self._damaged(1)
            log.warning("skipped a damaged copy of a snapshot: %s. An older one replaces it", error)
            return None
        except StoreError as error:
            self._failures[key] += 1
            if self._failures[key] < ATTEMPTS:
                raise
            log.warning("skipped a copy of a snapshot that cannot be downloaded: %s", error)
            return None
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
        return found
