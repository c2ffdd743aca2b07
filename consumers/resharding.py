"""Dividing a lane anew: shards go on where another number of them, or the whole lane, was."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from consumers.config import Share
from consumers.sharding import folder_of, shards_folder
from learners.sharded import shard_state, whole_state
from pipeline.container import DamagedError
from pipeline.snapshot_folder import SnapshotFolder, read_snapshot
from pipeline.snapshots import alone, lane_state

log = logging.getLogger(__name__)


class Division(NamedTuple):
    """Snapshots of all shards of a lane, taken at the same place of the log."""

    position: int
    paths: list[Path]


def divide_anew(whole: Path, keep: int, share: Share) -> None:
    """Give a shard the newest snapshot of the lane there is, however it was divided then.

    It is put where the shard's own are. There is nothing to do if one of those is as new.
    """
    mine = SnapshotFolder(folder_of(whole, share), keep)
    have = max(positions(mine, share.lane), default=-1)
    others = [d for d in divisions(whole, share.lane) if d.position > have]
    for division in sorted(others, reverse=True):
        try:
            snapshots = [read_snapshot(path) for path in division.paths]
        except (DamagedError, FileNotFoundError) as error:
            log.warning("lane %s: an older snapshot is taken: %s", share.lane, error)
            continue
        states = [lane_state(snapshot, share.lane) for snapshot in snapshots]
        state = states[0] if len(states) == 1 else whole_state(states)
        made = alone(
            snapshots[0],
            share.lane,
            state if share.shards == 1 else shard_state(state, share.shard, share.shards),
        )
        made.content.setdefault("exchange", {"begun": made.position, "scores": None})
        if not share.speaks:
            made.content["published"] = []
        mine.write(made)
        log.info(
            "lane %s: shard %s/%s goes on at %s of the log, where %s had come",
            share.lane, share.shard, share.shards, made.position,
            "the whole lane" if len(states) == 1 else f"{len(states)} shards",
        )  # fmt: skip
        return


def divisions(whole: Path, lane: str) -> Iterator[Division]:
    """The places of the log where a lane, or each of its shards, has a snapshot."""
    for position, path in positions(SnapshotFolder(whole), lane).items():
        yield Division(position, [path])
    for first in shards_folder(whole, lane).glob("0-of-*"):
        if not (count := first.name.removeprefix("0-of-")).isdecimal():
            continue
        shards = int(count)
        folders = [folder_of(whole, Share(lane, shard, shards)) for shard in range(shards)]
        if not all(folder.is_dir() for folder in folders):
            continue
        found = [positions(SnapshotFolder(folder), lane) for folder in folders]
        for position in found[0].keys() & set.intersection(*map(set, found)):
            yield Division(position, [paths[position] for paths in found])


def positions(folder: SnapshotFolder, lane: str) -> dict[int, Path]:
    """Where in the log the snapshots of a lane were taken."""
    return {s.position: path for path, s in folder.descriptions([]) if lane in s.lanes}
