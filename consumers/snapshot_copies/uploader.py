"""Copies each new snapshot to an object store, in a thread of its own, beside the work.

The stream never waits for a copy. If the store is away, the newest snapshot of each set of lanes
waits, and replaces one that waited before. The thread tries again and again, less and less often,
and says so in the log and in metrics. Copies are deleted when their local files are.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from pathlib import Path

from consumers.snapshot_copies.object_store import ObjectStore, StoreError
from pipeline.metrics.collectors import LearnerMetrics

log = logging.getLogger(__name__)

SNAPSHOT_NAME = re.compile(r"([0-9]{20})-([0-9a-f]{8})\.wirerank")
FIRST_PAUSE_S, MAX_PAUSE_S = 1.0, 60.0
STOP_SECONDS = 10.0  # how long a worker that stops waits for its last copy


def key_prefix(stream_folder: Path, folder: Path) -> str:
    """The place of a folder of a stream in the store: how the keys of its snapshots begin."""
    below = folder.relative_to(stream_folder).as_posix()
    return f"{stream_folder.name}/" if below == "." else f"{stream_folder.name}/{below}/"


class Uploader:
    """Copies the snapshots of one folder; `prefix` is the place of the folder in the store."""

    def __init__(
        self, store: ObjectStore, folder: Path, prefix: str, keep: int, metrics: LearnerMetrics
    ) -> None:
        self._store = store
        self._folder = folder
        self._prefix = prefix
        self._keep = keep
        self._metrics = metrics
        self._changed = threading.Condition()
        self._waiting: dict[str, Path] = {}  # by set of lanes: the newest snapshot to copy
        self._known: set[str] = set()  # sets of lanes that this folder has had
        self._busy = self._stopped = self._failing = False
        self._thread = threading.Thread(target=self._work, name="copying snapshots", daemon=True)
        self._thread.start()

    def offer(self, path: Path) -> None:
        """Copy a snapshot soon; it replaces an older one of the same lanes that waits."""
        match = SNAPSHOT_NAME.fullmatch(path.name)
        if match is None:
            return
        with self._changed:
            before = self._waiting.get(match[2])
            if before is None or before.name <= path.name:
                self._waiting[match[2]] = path
            self._known.add(match[2])
            self._changed.notify_all()

    def close(self, seconds: float = STOP_SECONDS) -> None:
        """Wait for copies for this long, then stop. The next start copies what is missing."""
        until = time.monotonic() + seconds
        with self._changed:
            while (self._waiting or self._busy) and not self._failing:
                if not self._changed.wait(max(0.0, until - time.monotonic())):
                    break
            if self._waiting or self._busy:
                log.warning(
                    "stopped before the last snapshot was copied to %s; the next start of this "
                    "worker copies it", self._store.url,
                )  # fmt: skip
            self._stopped = True
            self._changed.notify_all()

    def _work(self) -> None:
        pause = FIRST_PAUSE_S
        while (path := self._next()) is not None:
            try:
                self._copy(path)
            except FileNotFoundError:
                pass  # it was replaced by newer ones, which wait
            except Exception as error:  # whatever it is, the stream goes on
                self._report(path, error)
                self._wait_again(path, pause)
                pause = min(2 * pause, MAX_PAUSE_S)
                continue
            pause = FIRST_PAUSE_S
            with self._changed:
                self._busy = False
                self._changed.notify_all()

    def _next(self) -> Path | None:
        """The next snapshot to copy, once there is one; None at the stop."""
        with self._changed:
            while not self._waiting and not self._stopped:
                self._changed.wait()
            if self._stopped:
                return None
            self._busy = True
            return self._waiting.pop(min(self._waiting))

    def _wait_again(self, path: Path, pause: float) -> None:
        """Put a snapshot back, unless a newer one waits, and pause."""
        with self._changed:
            lanes = path.stem.rpartition("-")[2]
            self._waiting.setdefault(lanes, path)
            self._busy, self._failing = False, True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._stopped, pause)

    def _report(self, path: Path, error: Exception) -> None:
        self._metrics.copy_failed()
        if not self._failing:
            problem = error if isinstance(error, StoreError) else f"{type(error).__name__}: {error}"
            log.warning(
                "%s cannot be copied: %s. The work goes on, and the newest snapshot is tried again "
                "until it is copied", path.name, problem,
            )  # fmt: skip

    def _copy(self, path: Path) -> None:
        """Copy a snapshot, unless it is there, and delete copies that are no longer needed."""
        size, began = path.stat().st_size, time.perf_counter()
        key = self._prefix + path.name
        copies = {one.key: one.size for one in self._store.objects(self._prefix)}
        if copies.get(key) != size:
            self._store.put(key, path)
            seconds = time.perf_counter() - began
            log.info("snapshot copied: %s, %s bytes, %.2f s", key, f"{size:,}", seconds)
        self._metrics.copied(time.time())
        if self._failing:
            log.info("snapshots can be copied to %s again", self._store.url)
        self._failing = False
        self._delete_old([*copies, key], path.name)

    def _delete_old(self, keys: list[str], newest: str) -> None:
        """Delete copies of snapshots that this folder no longer has.

        Other machines may copy the snapshots of other lanes to the same place; those stay.
        """
        local = {file.name for file in self._folder.glob("*.wirerank")}
        names = sorted({key.removeprefix(self._prefix) for key in keys}, reverse=True)
        newer = 0
        for name in names:
            match = SNAPSHOT_NAME.fullmatch(name)
            if match is None or match[2] not in self._known or name >= newest:
                continue
            newer += 1  # at least: the newest one, and those that were looked at before
            if name not in local and newer >= self._keep:
                self._store.delete(self._prefix + name)
