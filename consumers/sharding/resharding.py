"""Changes the number of shards of a lane: new shards continue from the snapshots of old ones."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from consumers.assignment import ShardAssignment
from consumers.sharding.snapshot_folders import lane_shards_folder, shard_folder
from consumers.stream_settings import MAX_SHARDS
from learners.sharding.exchange import DisagreementError
from pipeline.models.divided_snapshots import divided_snapshot, joined_shards
from pipeline.snapshots.folder import SUFFIX, SnapshotFolder, read_snapshot
from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import DamagedError

log = logging.getLogger(__name__)

SHARD_COUNT = re.compile(r"[1-9][0-9]{0,3}")


class Division(NamedTuple):
    """Snapshots of all shards of a lane, taken at the same offset of the log."""

    position: int
    shards: int
    paths: list[Path]


def reshard_snapshots(
    stream_folder: Path,
    keep: int,
    assignment: ShardAssignment,
    log_identity: str,
    settings: Mapping[str, Any],
) -> None:
    """Give a shard the newest snapshot of its lane if another number of shards took it.

    The snapshot is written to the folder of the shard. Nothing is done if every shard has a
    snapshot of its own that is as new. All shards see the same folders, so they decide alike.
    """
    lane, shard, shards = assignment.lane, assignment.shard, assignment.shards
    usable = UsableSnapshots(lane, log_identity, settings)
    folders = [shard_folder(stream_folder, ShardAssignment(lane, n, shards)) for n in range(shards)]
    newest = [max(usable.by_position(folder), default=-1) for folder in folders]
    others = [d for d in usable.divisions(stream_folder) if d.shards != shards]
    if not others and min(newest) < 0 and any_snapshot(lane_shards_folder(stream_folder, lane)):
        log.warning(
            "lane %s: there is no offset at which all former shards have a usable snapshot, so "
            "their snapshots cannot be joined; shards without a snapshot follow the log from the "
            "beginning", lane,
        )  # fmt: skip
    for division in sorted((d for d in others if d.position > min(newest)), reverse=True):
        try:
            snapshots = [read_snapshot(path) for path in division.paths]
            made = shard_snapshot(snapshots, assignment)
        except (DamagedError, DisagreementError, OSError) as error:
            log.warning("lane %s: a snapshot cannot be used, trying an older one: %s", lane, error)
            continue
        try:
            SnapshotFolder(folders[shard], keep).write(made)
        except OSError as error:
            log.error(
                "lane %s: the snapshot of shard %s/%s cannot be written to %s: %s. It follows the "
                "log from an older snapshot, or from the beginning: make the folder writable, or "
                "name another snapshots.folder", lane, shard, shards, folders[shard],
                error.strerror,
            )  # fmt: skip
            return
        log.info(
            "lane %s: shard %s/%s continues at offset %s of the log, from the snapshot of %s",
            lane, shard, shards, division.position,
            "the whole lane" if division.shards == 1 else f"{division.shards} shards",
        )  # fmt: skip
        return


def any_snapshot(folder: Path) -> bool:
    """Whether there is a snapshot anywhere below a folder."""
    return any(folder.rglob(f"*{SUFFIX}"))


def shard_snapshot(snapshots: Sequence[Snapshot], assignment: ShardAssignment) -> Snapshot:
    """The snapshot of one shard, made from the snapshots of all shards of another division.

    Raises `DamagedError` or `DisagreementError` if they do not fit together.
    """
    lane, shard, shards = assignment.lane, assignment.shard, assignment.shards
    made = joined_shards(snapshots, lane)
    if shards > 1:
        made = divided_snapshot(made, lane, shard, shards)
    # The exchanges of the new division begin at this offset; those of the old one are ignored.
    made.content["exchange"] = {"begun": made.position, "scores": None}
    made.content.pop("passing", None)
    if not assignment.publishes:
        made.content["published"] = []
    return made


class UsableSnapshots(NamedTuple):
    """Finds snapshots of a lane that were taken with these settings and from this log."""

    lane: str
    log_identity: str
    settings: Mapping[str, Any]

    def divisions(self, stream_folder: Path) -> Iterator[Division]:
        """The offsets of the log at which the whole lane, or each of its shards, has a snapshot."""
        for position, path in self.by_position(stream_folder).items():
            yield Division(position, 1, [path])
        for first in lane_shards_folder(stream_folder, self.lane).glob("0-of-*"):
            count = first.name.removeprefix("0-of-")
            shards = int(count) if SHARD_COUNT.fullmatch(count) else 0
            if not 1 < shards <= MAX_SHARDS:
                continue  # no folder of ours
            assignments = [ShardAssignment(self.lane, n, shards) for n in range(shards)]
            kept = [self.by_position(shard_folder(stream_folder, a)) for a in assignments]
            for position in set.intersection(*map(set, kept)) if kept else ():
                yield Division(position, shards, [paths[position] for paths in kept])

    def by_position(self, folder: Path) -> dict[int, Path]:
        """The usable snapshots of a folder, by the offset of the log that they were taken at."""
        return {
            snapshot.position: path
            for path, snapshot in SnapshotFolder(folder).descriptions([])
            if snapshot.log == self.log_identity
            and self.lane in snapshot.lanes
            and snapshot.settings[self.lane] == self.settings
        }
