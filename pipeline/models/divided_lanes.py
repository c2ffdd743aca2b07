"""Lanes that several workers share in shards: found in the folder of a stream, and joined."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from learners.sharding.exchange import DisagreementError
from pipeline.models.divided_snapshots import joined_shards
from pipeline.snapshots.folder import SnapshotFolder, read_snapshot
from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import DamagedError

FIRST_SHARD = re.compile(r"0-of-([1-9][0-9]?)")
MAX_SHARDS = 64


class DividedLane(NamedTuple):
    """The newest offset of the log at which all shards of a lane have good snapshots."""

    position: int
    lane: str
    paths: tuple[Path, ...]


def divided_lanes(folder: Path, damaged: list[str]) -> Iterator[DividedLane]:
    """Yield the lanes of a stream that are divided into shards; add problems to `damaged`."""
    for first in sorted(folder.glob("shards/*/0-of-*")):
        match = FIRST_SHARD.fullmatch(first.name)
        shards = int(match[1]) if match else 0
        if not 1 < shards <= MAX_SHARDS:
            continue
        kept = list[dict[int, tuple[str, Path]]]()
        for number in range(shards):
            shard = SnapshotFolder(first.with_name(f"{number}-of-{shards}"))
            described = shard.descriptions(damaged)
            kept.append({one.position: (one.lanes[0], path) for path, one in described})
        common = set.intersection(*map(set, kept))
        if common:
            newest = max(common)
            lane = kept[0][newest][0]
            yield DividedLane(newest, lane, tuple(shard[newest][1] for shard in kept))


def joined_snapshot(paths: Sequence[Path]) -> Snapshot:
    """Return the snapshot of a whole lane, made of those of all its shards."""
    snapshots = [read_snapshot(path) for path in paths]
    first, names = snapshots[0], " and ".join(snapshot.name for snapshot in snapshots)
    (lane,) = first.lanes
    try:
        whole = joined_shards(snapshots, lane)
    except DisagreementError as error:
        raise DamagedError(f"{names} do not fit together: {error}") from None
    return Snapshot(whole.content, whole.arrays, str(paths[0].parent.parent))
