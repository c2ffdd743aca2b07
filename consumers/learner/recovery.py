"""Where a learner worker continues: restores lanes from snapshots and committed offsets.

A published lane has published up to the committed offset of its group. It must resume at or before
that offset, and publish nothing until it is there. A lane that is not published can resume
anywhere. So each lane is restored from the newest snapshot that suits it. Lanes from the same
snapshot follow the log together. A lane without a snapshot follows the log from the beginning.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from consumers.kafka.log_reader import LogDescription, LogError
from pipeline.follower import Follower
from pipeline.snapshots.folder import SnapshotFolder, read_snapshot
from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import DamagedError

log = logging.getLogger(__name__)


class Recovery:
    """Restores followers for the lanes of a worker."""

    def __init__(
        self,
        folder: SnapshotFolder,
        described: LogDescription,
        published: dict[str, int],  # by published lane: the next offset of the log to publish
        new_follower: Callable[[Sequence[str]], Follower],
    ) -> None:
        self._folder = folder
        self._log = described
        self.published = published
        self._new_follower = new_follower

    def followers(self, lanes: Sequence[str]) -> list[Follower]:
        """Followers at their offsets of the log; each lane is in one of them."""
        damaged: list[str] = []
        # Other workers may take snapshots of other lanes here while this worker starts.
        known = [
            (path, snapshot)
            for path, snapshot in self._folder.descriptions(damaged)
            if any(lane in lanes for lane in snapshot.lanes)
        ]
        for path, snapshot in known:
            self._check_identity(path, snapshot)
            self._trust_newer(snapshot)
        wanted, followers = list(lanes), list[Follower]()
        for path, snapshot in known:
            suited = [lane for lane in wanted if self._suits(lane, snapshot)]
            follower = self._restored(path, suited, damaged) if suited else None
            if follower is not None:
                followers.append(follower)
                wanted = [lane for lane in wanted if lane not in suited]
        for problem in damaged:
            log.warning("skipped a damaged snapshot: %s", problem)
        if wanted:
            followers.append(self._from_the_beginning(wanted))
        for follower in followers:
            log.info(
                "%s: resuming at offset %s of the log", ", ".join(follower.names), follower.position
            )
        return followers

    def _check_identity(self, path: Path, snapshot: Snapshot) -> None:
        if snapshot.content["log"] != self._log.identity or snapshot.position > self._log.end:
            raise LogError(
                f"{path} was taken at offset {snapshot.position} of another log than "
                f"{self._log.topic}, which ends at {self._log.end}: the Kafka topic was deleted "
                f"and created again, or this is another broker. Move {path.parent} away to follow "
                "this log from its beginning."
            )

    def _trust_newer(self, snapshot: Snapshot) -> None:
        """Believe a snapshot that is newer than the committed offset.

        A snapshot is taken only when everything before it is published, so the broker has lost the
        offset.
        """
        for lane in snapshot.content["published"]:
            behind = self.published.get(lane, snapshot.position) < snapshot.position
            if behind and lane in snapshot.lanes:  # it proves nothing about other lanes
                log.warning(
                    "lane %s: the committed offset is %s, but a snapshot shows that everything "
                    "before offset %s was published; continuing at that offset (brokers delete the "
                    "offsets of groups that are idle for days)",
                    lane, self.published[lane], snapshot.position,
                )  # fmt: skip
                self.published[lane] = snapshot.position

    def _suits(self, lane: str, snapshot: Snapshot) -> bool:
        if lane not in snapshot.lanes:
            return False
        return snapshot.position <= self.published.get(lane, snapshot.position)

    def _restored(self, path: Path, lanes: Sequence[str], damaged: list[str]) -> Follower | None:
        try:
            snapshot = read_snapshot(path)
        except (DamagedError, FileNotFoundError) as error:
            damaged.append(str(error))
            return None
        follower = self._new_follower(lanes)
        follower.restore(snapshot)
        return follower

    def _from_the_beginning(self, lanes: Sequence[str]) -> Follower:
        if self._log.first > 0:
            raise LogError(
                f"{self._log.topic} begins at offset {self._log.first}: earlier records were "
                f"deleted, and no usable snapshot of {', '.join(lanes)} replaces them. Restore a "
                "snapshot, or start a new log (another Kafka topic for `blocks`)."
            )
        return self._new_follower(lanes)
