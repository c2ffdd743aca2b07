"""Where a learner worker continues: restores lanes from snapshots and committed offsets.

A published lane has published up to the committed offset of its group. It must resume at or before
that offset, and publish nothing until it is there. A lane that is not published can resume
anywhere. So each lane is restored from the newest snapshot that suits it. Lanes from the same
snapshot follow the log together. A lane without a snapshot follows the log from the beginning, or
from the oldest place that is left of it (`lane_start`).

Snapshots are tried from the newest on, and everything that follows from one is decided only when it
is restored. A file that turns out to be damaged, then or before, is as if it were not there: its
lanes try the next older one, and in the end follow the log from the beginning. That takes longer,
but the rankings are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from consumers.kafka.log_reader import LogDescription, LogError
from consumers.learner.initial_model import NO_MODEL, InitialModel
from pipeline.follower import Follower
from pipeline.snapshots.content import Description
from pipeline.snapshots.folder import SnapshotFolder, read_snapshot
from pipeline.snapshots.snapshot import MismatchError
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
        without_offset: Collection[str] = (),  # published lanes of which the broker has no offset
        initial: InitialModel = NO_MODEL,  # what the stream begins with
        begin: Callable[[Follower], None] | None = None,  # finds the beginning of a new follower
        profile: str | None = None,  # of the stream; a snapshot of another one is refused
    ) -> None:
        self._folder = folder
        self._log = described
        self.published = published
        self._new_follower = new_follower
        self._without_offset = set(without_offset)
        self._initial = initial
        self._begin = begin
        self._profile = profile
        self.damaged: list[str] = []  # what is wrong with each snapshot that was skipped

    def followers(self, lanes: Sequence[str]) -> list[Follower]:
        """Followers at their offsets of the log; each lane is in one of them."""
        self._check_offsets(lanes)
        wanted, followers = list(lanes), list[Follower]()
        foreign: list[tuple[Path, Description]] = []
        for path, snapshot in self._folder.descriptions(self.damaged):
            # Other workers may take snapshots of other lanes here while this worker starts.
            if not any(lane in lanes for lane in snapshot.lanes):
                continue
            if snapshot.log != self._log.identity or snapshot.position > self._log.end:
                foreign.append((path, snapshot))
                continue
            self._note_ahead(wanted, snapshot)
            suited = [lane for lane in wanted if self._suits(lane, snapshot)]
            follower = self._restored(path, suited) if suited else None
            if follower is not None:
                self._trust(suited, snapshot)
                followers.append(follower)
                wanted = [lane for lane in wanted if lane not in suited]
        self._report(foreign, wanted)
        if wanted and self._log.first > 0:
            promoted = self._promoted(wanted)
            followers += promoted
            wanted = [lane for lane in wanted if not any(lane in f.names for f in promoted)]
        if wanted:
            followers.append(self._from_the_beginning(wanted))
        for follower in followers:
            log.info(
                "%s: resuming at offset %s of the log", ", ".join(follower.names), follower.position
            )
        return followers

    def _check_offsets(self, lanes: Sequence[str]) -> None:
        """Raise `LogError` if a lane has published more than the log has.

        It would publish nothing of the records that follow, up to its offset.
        """
        for lane in lanes:
            offset = self.published.get(lane, 0)
            if offset > self._log.end:
                raise LogError(
                    f"lane {lane} has published up to offset {offset} of {self._log.topic}, which "
                    f"ends at {self._log.end}: the Kafka topic was deleted and created again, or "
                    "it has lost its last records. Restore it, or start over: name another Kafka "
                    "topic for `blocks`, reset the offsets of the tokenizers' group, and empty the "
                    "snapshot folder."
                )

    def _suits(self, lane: str, snapshot: Description) -> bool:
        if lane not in snapshot.lanes:
            return False
        is_unknown = lane in self._without_offset or lane not in self.published
        if snapshot.position == snapshot.began < self._log.first and is_unknown:
            return False  # it has learned nothing yet, and the log begins later now
        if lane in self._without_offset and lane in snapshot.published:
            return True
        return snapshot.position <= self.published.get(lane, snapshot.position)

    def _note_ahead(self, lanes: Sequence[str], snapshot: Description) -> None:
        """Log lanes whose committed offset is behind a snapshot: the broker has lost commits."""
        for lane in lanes:
            offset = self.published.get(lane, snapshot.position)
            is_known = lane in snapshot.published and lane in snapshot.lanes
            if is_known and offset < snapshot.position and lane not in self._without_offset:
                log.warning(
                    "lane %s: the committed offset is %s, but a snapshot shows that everything "
                    "before offset %s was published; rankings from the committed offset on are "
                    "published again, since the broker may have lost them too",
                    lane, offset, snapshot.position,
                )  # fmt: skip

    def _trust(self, lanes: Sequence[str], snapshot: Description) -> None:
        """Learn from a restored snapshot how far lanes have published, if the broker has forgotten.

        A snapshot is taken only when everything before it is published. But an offset that the
        broker has is always right: what it says and what was published were committed together.
        """
        for lane in lanes:
            if lane not in self._without_offset or lane not in snapshot.published:
                continue
            self._without_offset.remove(lane)
            if self.published[lane] < snapshot.position == snapshot.began:
                self.published[lane] = snapshot.position  # killed before it published anything
            elif snapshot.position > self.published[lane]:
                log.warning(
                    "lane %s: there is no committed offset, but a snapshot shows that everything "
                    "before offset %s was published; continuing at that offset (brokers delete the "
                    "offsets of groups that are idle for days)",
                    lane, snapshot.position,
                )  # fmt: skip
                self.published[lane] = snapshot.position

    def _restored(self, path: Path, lanes: Sequence[str]) -> Follower | None:
        follower = self._new_follower(lanes)
        try:
            follower.restore(read_snapshot(path))
        except (DamagedError, OSError) as error:
            follower.engine.close()
            if not isinstance(error, FileNotFoundError):  # another worker has just removed it
                self.damaged.append(str(error))
            return None
        self._check_profile(follower)
        self._initial.check_restored(follower.snapshot_content, follower.names)
        return follower

    def _check_profile(self, follower: Follower) -> None:
        """Raise `MismatchError` if the lanes have learned the terms of another profile."""
        before = follower.snapshot_content.get("profile")  # older snapshots do not say it
        if None in (before, self._profile) or before == self._profile:
            return
        raise MismatchError(
            f"lane {', '.join(follower.names)} has learned with profile = {before}, but the "
            f"configuration says {self._profile}. Their terms are not the same: restore the old "
            "profile, or begin another stream with a name of its own."
        )

    def _report(self, foreign: Sequence[tuple[Path, Description]], wanted: Sequence[str]) -> None:
        """Log the snapshots that were skipped; raise `LogError` if lanes have only foreign ones."""
        for problem in self.damaged:
            log.warning(
                "skipped a damaged snapshot: %s. An older snapshot or the log replaces it; the "
                "file stays for you to examine (wirerank inspect) and to delete", problem,
            )  # fmt: skip
        for path, snapshot in foreign:
            message = (
                f"{path} was taken at offset {snapshot.position} of another log than "
                f"{self._log.topic}, which ends at {self._log.end}: the Kafka topic was deleted "
                "and created again, or this is another broker."
            )
            if any(lane in wanted for lane in snapshot.lanes):
                raise LogError(
                    f"{message} Move {path.parent} away to follow this log from its beginning."
                )
            log.warning("skipped a snapshot: %s Move the file away.", message)

    def _promoted(self, lanes: Sequence[str]) -> list[Follower]:
        """Restore lanes that were only watched, and are to be published now.

        They cannot publish the log from its beginning any more, so they begin to publish where the
        oldest of their snapshots is. What they have learned is complete.
        """
        followers, wanted = list[Follower](), [x for x in lanes if x in self._without_offset]
        for path, snapshot in reversed(list(self._folder.descriptions([]))):
            suited = [lane for lane in wanted if lane in snapshot.lanes]
            is_there = self._log.first <= snapshot.position <= self._log.end
            if not suited or not is_there or snapshot.log != self._log.identity:
                continue
            follower = self._restored(path, suited)
            if follower is None:
                continue
            for lane in suited:
                self._without_offset.remove(lane)
                self.published[lane] = snapshot.position
            log.warning(
                "%s: published from offset %s of the log on. Earlier records were trimmed before "
                "it was published, so it never ranks their documents",
                ", ".join(suited), snapshot.position,
            )  # fmt: skip
            followers.append(follower)
            wanted = [lane for lane in wanted if lane not in suited]
        return followers

    def _from_the_beginning(self, lanes: Sequence[str]) -> Follower:
        had_a_place = [
            lane for lane in lanes if lane in self.published and lane not in self._without_offset
        ]
        if self._log.first > 0 and (had_a_place or self._begin is None):
            lost = had_a_place or lanes
            raise LogError(
                f"{self._log.topic} begins at offset {self._log.first}: earlier records were "
                f"deleted, and no usable snapshot of {', '.join(lost)} replaces them. Restore a "
                "snapshot, or start a new log (another Kafka topic for `blocks`), or give the lane "
                "another name (name=...): it begins as a new lane then."
            )
        follower = self._new_follower(lanes)
        if self._initial.snapshot is not None:
            follower.restore(self._initial.snapshot)
            log.info("%s: beginning with %s", ", ".join(lanes), self._initial.snapshot.name)
        if self._begin is not None:
            self._begin(follower)
        return follower
