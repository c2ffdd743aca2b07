"""Dividing a lane anew: shards go on where another number of them, or the whole lane, was."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from consumers.assignment import ShardAssignment
from consumers.sharding.shard_worker import folder_of, shards_folder
from learners.sharding.shard import shard_state, whole_state
from pipeline.snapshots.folder import SnapshotFolder, read_snapshot
from pipeline.snapshots.snapshot import Snapshot, learner_state, single_lane_snapshot
from pipeline.storage.container import DamagedError

log = logging.getLogger(__name__)


class Division(NamedTuple):
    """Snapshots of all shards of a lane, taken at the same place of the log."""

    position: int
    shards: int
    paths: list[Path]


def divide_anew(
    whole: Path, keep: int, share: ShardAssignment, log_identity: str, settings: Mapping[str, Any]
) -> None:
    """Give a shard the newest snapshot of the lane there is, however it was divided then.

    It is put where the shard's own are. There is nothing to do if every shard has one of its own
    that is as new: all shards see the same folders, so they decide alike.
    """
    known = Known(share.lane, log_identity, settings)
    mine = [
        folder_of(whole, ShardAssignment(share.lane, n, share.shards)) for n in range(share.shards)
    ]
    newest = [max(known.positions(folder), default=-1) for folder in mine]
    others = [d for d in known.divisions(whole) if d.shards != share.shards]
    if not others and min(newest) < 0 and shards_folder(whole, share.lane).is_dir():
        log.warning(
            "lane %s: no place of the log has a snapshot of all shards, of any division there was",
            share.lane,
        )
    for division in sorted((d for d in others if d.position > min(newest)), reverse=True):
        try:
            snapshots = [read_snapshot(path) for path in division.paths]
        except (DamagedError, FileNotFoundError) as error:
            log.warning("lane %s: an older snapshot is taken: %s", share.lane, error)
            continue
        SnapshotFolder(mine[share.shard], keep).write(shared_out(snapshots, share))
        log.info(
            "lane %s: shard %s/%s goes on at %s of the log, where %s had come",
            share.lane, share.shard, share.shards, division.position,
            "the whole lane" if division.shards == 1 else f"{division.shards} shards",
        )  # fmt: skip
        return


def shared_out(snapshots: Sequence[Snapshot], share: ShardAssignment) -> Snapshot:
    """What one shard gets of the snapshots of all shards of another division."""
    states = [learner_state(snapshot, share.lane) for snapshot in snapshots]
    state = states[0] if len(states) == 1 else whole_state(states)
    if share.shards > 1:
        state = shard_state(state, share.shard, share.shards)
    made = single_lane_snapshot(snapshots[0], share.lane, state)
    # Exchanges of this division begin here; what others have given each other is nothing to it.
    made.content["exchange"] = {"begun": made.position, "scores": None}
    made.content.pop("passing", None)
    if not share.publishes:
        made.content["published"] = []
    return made


class Known(NamedTuple):
    """What a snapshot must be of: a lane with these settings, and this log."""

    lane: str
    log_identity: str
    settings: Mapping[str, Any]

    def divisions(self, whole: Path) -> Iterator[Division]:
        """The places of the log where the lane, or each of its shards, has a snapshot."""
        for position, path in self.positions(whole).items():
            yield Division(position, 1, [path])
        for first in shards_folder(whole, self.lane).glob("0-of-*"):
            count = first.name.removeprefix("0-of-")
            shards = int(count) if count.isdecimal() else 0
            folders = [
                folder_of(whole, ShardAssignment(self.lane, n, shards)) for n in range(shards)
            ]
            found = [self.positions(folder) for folder in folders]
            for position in set.intersection(*map(set, found)) if found else ():
                yield Division(position, shards, [paths[position] for paths in found])

    def positions(self, folder: Path) -> dict[int, Path]:
        """Where in the log the snapshots of a folder were taken."""
        if not folder.is_dir():
            return {}
        return {
            snapshot.position: path
            for path, snapshot in SnapshotFolder(folder).descriptions([])
            if snapshot.content["log"] == self.log_identity
            and self.lane in snapshot.lanes
            and snapshot.content["settings"]["lanes"].get(self.lane) == self.settings
        }
