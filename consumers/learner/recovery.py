"""Where a learner worker takes up: followers from the snapshots and the offsets there are.

A published lane has published up to its group's committed offset; it must resume at or before that,
and keep silent until it is there. A lane that is only watched can resume anywhere. So each lane is
taken from the newest snapshot that suits it, lanes from the same snapshot follow the log
together, and a lane without any follows it from the beginning.
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
    """Makes the followers of some lanes."""

    def __init__(
        self,
        folder: SnapshotFolder,
        facts: LogDescription,
        published: dict[str, int],  # by published lane: the next record to publish the rankings of
        new_follower: Callable[[Sequence[str]], Follower],
    ) -> None:
        self._folder = folder
        self._facts = facts
        self.published = published
        self._new_follower = new_follower

    def followers(self, lanes: Sequence[str]) -> list[Follower]:
        """Followers for all these lanes, each lane in one of them, at their places of the log."""
        damaged: list[str] = []
        known = list(self._folder.descriptions(damaged))
        for path, snapshot in known:
            self._check_identity(path, snapshot)
            self._trust_newer(snapshot)
        wanted, made = list(lanes), list[Follower]()
        for path, snapshot in known:
            mine = [lane for lane in wanted if self._suits(lane, snapshot)]
            follower = self._resumed(path, mine, damaged) if mine else None
            if follower is not None:
                made.append(follower)
                wanted = [lane for lane in wanted if lane not in mine]
        for problem in damaged:
            log.warning("a snapshot is passed over: %s", problem)
        if wanted:
            made.append(self._from_the_beginning(wanted))
        for follower in made:
            log.info("%s: at %s of the log", ", ".join(follower.names), follower.position)
        return made

    def _check_identity(self, path: Path, snapshot: Snapshot) -> None:
        if snapshot.content["log"] != self._facts.identity or snapshot.position > self._facts.end:
            raise LogError(
                f"{path} was taken at {snapshot.position} of another log than {self._facts.topic}, "
                f"which ends at {self._facts.end}: the topic was deleted and made anew, or this is "
                f"another broker. Move {path.parent} away to start from the log that is there."
            )

    def _trust_newer(self, snapshot: Snapshot) -> None:
        """A snapshot was taken when all before it was published, even if the offset is gone."""
        for lane in snapshot.content["published"]:
            behind = self.published.get(lane, snapshot.position) < snapshot.position
            if behind and lane in snapshot.lanes:  # of other lanes it proves nothing
                log.warning(
                    "lane %s: the broker says that %s of the log is published, a snapshot says %s; "
                    "going on from there (offsets of a group that rests are forgotten in time)",
                    lane, self.published[lane], snapshot.position,
                )  # fmt: skip
                self.published[lane] = snapshot.position

    def _suits(self, lane: str, snapshot: Snapshot) -> bool:
        if lane not in snapshot.lanes:
            return False
        return snapshot.position <= self.published.get(lane, snapshot.position)

    def _resumed(self, path: Path, lanes: Sequence[str], damaged: list[str]) -> Follower | None:
        try:
            snapshot = read_snapshot(path)
        except (DamagedError, FileNotFoundError) as error:
            damaged.append(str(error))
            return None
        follower = self._new_follower(lanes)
        follower.restore(snapshot)
        return follower

    def _from_the_beginning(self, lanes: Sequence[str]) -> Follower:
        if self._facts.first > 0:
            raise LogError(
                f"{self._facts.topic} begins at {self._facts.first}, and no snapshot of "
                f"{', '.join(lanes)} reaches that far: what was before is gone. Restore a "
                "snapshot, or start a new log."
            )
        return self._new_follower(lanes)
