"""The copies of a worker's snapshots: fetched before it recovers, written while it works."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from consumers.settings import Config
from consumers.sharding.snapshot_folders import lane_shards_folder, stream_folder
from consumers.snapshot_copies.fetching import CopyFetcher
from consumers.snapshot_copies.object_store import MissingClientError, ObjectStore, StoreError
from consumers.snapshot_copies.uploader import SNAPSHOT_NAME, Uploader, key_prefix
from consumers.stream_settings import StreamSettings
from pipeline.metrics.collectors import LearnerMetrics
from pipeline.snapshots.folder import SnapshotFolder

log = logging.getLogger(__name__)

FETCH_SECONDS = 60.0  # how long a worker without snapshots waits for a store that does not answer
PAUSE_SECONDS = 2.0


class SnapshotCopies:
    """Copies in an object store, if `snapshots.copy_to` names one; otherwise nothing is done."""

    def __init__(
        self, config: Config, stream: StreamSettings, folder: Path, metrics: LearnerMetrics
    ) -> None:
        self._url = config.snapshots.copy_to
        self._keep = config.snapshots.keep
        self._root = stream_folder(config, stream)
        self._folder = folder
        self._metrics = metrics
        self._store: ObjectStore | None = None
        self._uploader: Uploader | None = None

    def fetch(
        self,
        lanes: Sequence[str],
        log_identity: str,
        stop: threading.Event,
        alive: Callable[[], None],
    ) -> None:
        """Fetch what this machine lacks.

        If the store does not answer, the worker goes on with what is there, or with the log. One
        that has nothing waits for a while first, because the log may be long.
        """
        if not self._url:
            return
        until = time.monotonic() + FETCH_SECONDS
        fetcher: CopyFetcher | None = None
        waiting = False
        others = [self._root, *(lane_shards_folder(self._root, lane) for lane in lanes)]
        while not stop.is_set():
            alive()
            try:
                fetcher = fetcher or self._fetcher(log_identity, alive)
                fetcher.fetch(self._folder, lanes, others)
            except (StoreError, OSError) as error:
                has_some = any(SNAPSHOT_NAME.fullmatch(p.name) for p in self._local_files())
                hopeless = isinstance(error, MissingClientError)
                if has_some or hopeless or time.monotonic() > until:
                    log.warning(
                        "copies of snapshots cannot be fetched: %s. Going on with %s", error,
                        "the snapshots of this machine" if has_some else "the log",
                    )  # fmt: skip
                    return
                if not waiting:
                    log.warning(
                        "copies of snapshots cannot be fetched: %s. Trying again for %.0f s", error,
                        FETCH_SECONDS,
                    )  # fmt: skip
                waiting = True
                stop.wait(PAUSE_SECONDS)
            else:
                return

    def _fetcher(self, log_identity: str, alive: Callable[[], None]) -> CopyFetcher:
        def damaged(times: int) -> None:
            self._metrics.snapshot_problem("damaged", times)

        prefix = key_prefix(self._root, self._root)
        return CopyFetcher(self._opened(), self._root, prefix, log_identity, damaged, alive)

    def _opened(self) -> ObjectStore:
        if self._store is None:
            self._store = ObjectStore(self._url)
        return self._store

    def _local_files(self) -> list[Path]:
        try:
            return SnapshotFolder(self._folder).files()
        except OSError:
            return []

    def start(self) -> None:
        """Begin to copy; what is here and was not copied before a stop is copied first."""
        if not self._url:
            return
        try:
            store = self._opened()
        except StoreError as error:
            self._metrics.copy_failed()
            log.error("snapshots are not copied: %s", error)
            return
        prefix = key_prefix(self._root, self._folder)
        self._uploader = Uploader(store, self._folder, prefix, self._keep, self._metrics)
        log.info("snapshots are copied to %s/%s", self._url, prefix)
        for path in reversed(self._local_files()):
            self._uploader.offer(path)

    def offer(self, path: Path) -> None:
        """Copy a new snapshot, beside the work."""
        if self._uploader is not None:
            self._uploader.offer(path)

    def close(self) -> None:
        """Wait a little for the last copy, and stop."""
        if self._uploader is not None:
            self._uploader.close()
            self._uploader = None
