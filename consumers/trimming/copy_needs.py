"""What the copies of snapshots in an object store need of the log.

A machine that is lost is replaced by one that begins with the newest copies. So the log must go
back to them: an upload that is late, or a store that is away, holds back trimming.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from consumers.assignment import ShardAssignment
from consumers.kafka.log_reader import LogDescription
from consumers.sharding.snapshot_folders import shard_folder
from consumers.snapshot_copies.object_store import ObjectStore
from consumers.snapshot_copies.uploader import SNAPSHOT_NAME, key_prefix
from consumers.stream_settings import LaneSettings
from consumers.trimming.needs import Need
from consumers.trimming.survey import Survey


def copy_needs(
    store: ObjectStore,
    lanes: Sequence[LaneSettings],
    stream_folder: Path,
    survey: Survey,
    log: LogDescription,
    committed: Mapping[str, int],
) -> list[Need]:
    """What the copies of every lane and shard need; raises `StoreError` if they are not known."""
    names = [one.key for one in store.objects(key_prefix(stream_folder, stream_folder))]
    needs = []
    for lane in lanes:
        name = lane.parsed.name
        for number in range(lane.shards):
            assignment = ShardAssignment(name, number, lane.shards)
            folder = shard_folder(stream_folder, assignment)
            own = [one.path.name for one in survey.of_lane(name, folder)]
            if not own:
                continue  # the lane needs everything anyhow
            last = log.end
            if lane.publish and assignment.publishes:
                last = min(last, committed.get(name, last))
            kept = [
                position
                for position in positions(names, key_prefix(stream_folder, folder), own)
                if log.first <= position <= last
            ]
            who = f"the copy of lane {name}"
            if lane.shards > 1:
                who += f" shard {number}/{lane.shards}"
            needs.append(
                Need(name, who, max(kept))
                if kept
                else Need(name, who, None, f"{store.url} has no copy of its snapshots yet")
            )
    return needs


def positions(keys: Collection[str], prefix: str, own: Sequence[str]) -> Iterator[int]:
    """The positions of copies of the same lanes as the newest snapshot of a folder."""
    newest = SNAPSHOT_NAME.fullmatch(max(own))
    for key in keys:
        match = SNAPSHOT_NAME.fullmatch(key.removeprefix(prefix))
        if match is not None and newest is not None and match[2] == newest[2]:
            yield int(match[1])
