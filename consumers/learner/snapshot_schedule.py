"""Decides when a learner takes a snapshot, and writes snapshots while the work goes on.

A learner of whole lanes takes one every `snapshots.every_seconds`, by the clock of its machine, if
a lane has moved since the last one.

All shards of a lane must take their snapshots at the same offsets of the log, without asking each
other. So a shard goes by the times of the records, which the broker has set: a snapshot is due
before the first record of each period of `every_seconds`. While no records arrive, all shards are
at the end of the log, and the clock of the machine decides as above.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from consumers.task import Task
from pipeline.metrics.collectors import LearnerMetrics
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.snapshot import Snapshot

log = logging.getLogger(__name__)

WRITE_SECONDS = 60.0  # how long a worker waits for a snapshot to be written


class SnapshotSchedule:
    """The times of a learner's snapshots, and the thread that writes them."""

    def __init__(
        self,
        folder: SnapshotFolder,
        every_seconds: float,
        sharded: bool,
        metrics: LearnerMetrics,
        written: Callable[[Path], None] = lambda path: None,
    ) -> None:
        self._folder = folder
        self._every_seconds = every_seconds
        self._sharded = sharded
        self._metrics = metrics
        self._written = written  # called with each new file
        self._last = time.monotonic()
        self._last_positions: Mapping[str, int] = {}
        self._period: int | None = None  # the newest period that the log has reached
        self._writing: Task[None] | None = None

    def check_folder(self) -> None:
        """Log where snapshots are kept. A folder that cannot be written stops only snapshots."""
        path = self._folder.path.absolute()
        try:
            self._folder.check_writable()
        except OSError as error:
            self._metrics.snapshot_problem("not_written")
            log.error(
                "snapshots cannot be written to %s: %s. The work goes on without them, but the "
                "next start will take longer: make the folder writable, or name another "
                "snapshots.folder", path, error.strerror,
            )  # fmt: skip
            return
        log.info("snapshots are kept in %s", path)

    def is_due(self, positions: Mapping[str, int], records_arrived: bool) -> bool:
        """Whether a snapshot is due by the clock; `positions` are those of the lanes in the log."""
        if time.monotonic() - self._last <= self._every_seconds:
            return False
        if self._sharded and records_arrived:
            return False  # the log goes on, so its times decide
        return positions != self._last_positions

    def is_due_before(self, timestamp_ms: int) -> bool:
        """Whether a shard must take a snapshot before it processes the record of this time.

        Times can go backwards a little (the clocks of two brokers; in topics that others created,
        of tokenizers), so a period never begins twice.
        """
        if not self._sharded:
            return False
        period = self._period_of(timestamp_ms)
        before = period if self._period is None else self._period
        self._period = max(period, before)
        return period > before

    def is_due_between(self, first_ms: int, next_ms: int) -> bool:
        """Whether a snapshot will be due before a later record, if the record `first_ms` is next.

        After a snapshot before the first record, the answer is the same.
        """
        first = self._period_of(first_ms)
        reached = first if self._period is None else max(first, self._period)
        return self._period_of(next_ms) > reached

    def _period_of(self, timestamp_ms: int) -> int:
        return int(timestamp_ms / 1000 // self._every_seconds)

    @property
    def period(self) -> int | None:
        """The newest period that the log has reached; a snapshot keeps it."""
        return self._period

    def resume(self, period: int | None) -> None:
        """Continue with the period that the snapshot has kept from which the shard starts.

        Otherwise a restart would change when snapshots are due, if clocks were off or went
        backwards, and the shards would take them at different offsets.
        """
        self._period = period

    def can_begin(self) -> bool:
        """Whether a snapshot can be taken now; it cannot while the last one is being written.

        A shard waits for that instead, because no shard may leave out a snapshot.
        """
        self._last = time.monotonic()
        if self._sharded:
            self.finish()
        if self._writing is not None and not self._writing.done():
            log.warning("the last snapshot is still being written; the next one is postponed")
            return False
        return True

    def write(self, snapshots: Sequence[Snapshot], positions: Mapping[str, int]) -> None:
        """Write snapshots in a thread of their own."""
        self._last_positions = positions
        self._writing = Task("snapshot", lambda: self._write_all(snapshots))

    def finish(self) -> None:
        """Wait for the snapshot that is being written, if there is one."""
        if self._writing is not None:
            self._writing.result(WRITE_SECONDS)

    def _write_all(self, snapshots: Sequence[Snapshot]) -> None:
        for snapshot in snapshots:
            try:
                began = time.perf_counter()
                path = self._folder.write(snapshot)
                seconds, size = time.perf_counter() - began, path.stat().st_size
            except OSError as error:
                self._metrics.snapshot_problem("not_written")
                log.error(
                    "the snapshot at offset %s cannot be written to %s: %s. The work goes on, but "
                    "the next start will take longer: make room, or name another snapshots.folder",
                    snapshot.position, self._folder.path.absolute(), error.strerror,
                )  # fmt: skip
                continue
            self._metrics.snapshot(time.time(), size, seconds)
            self._written(path)
            log.info(
                "snapshot written: offset %s, %s bytes, %.2f s, lanes %s",
                snapshot.position, f"{size:,}", seconds, ", ".join(snapshot.lanes),
            )  # fmt: skip
