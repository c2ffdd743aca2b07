"""Which records of the log are still needed, and by whom.

A lane of the configuration needs the log from the oldest of its newest N snapshots on (N is
`snapshots.keep`). Each shard counts by itself. A lane without so many snapshots needs everything. A
published lane resumes at or before its committed offset, so later snapshots do not count.

A lane that is not in the configuration but has snapshots needs the log from its oldest one on: it
may be in the configuration of another worker, or come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from consumers.assignment import ShardAssignment
from consumers.kafka.log_reader import LogDescription
from consumers.sharding.snapshot_folders import shard_folder
from consumers.stream_settings import LaneSettings
from consumers.trimming.survey import Found, Survey
from learners.specs import LaneSpec, resolved


class Need(NamedTuple):
    """The first offset that somebody needs; None if everything is needed, with the reason."""

    lane: str
    who: str
    position: int | None
    reason: str = ""
    is_configured: bool = True


def all_needs(
    lanes: Sequence[LaneSettings],
    keep: int,
    stream_folder: Path,
    survey: Survey,
    log: LogDescription,
    committed: Mapping[str, int],  # by published lane
) -> list[Need]:
    """What every lane needs of the log; of divided lanes, what every shard needs."""
    specs = {spec.name: spec for spec in resolved([lane.parsed for lane in lanes])}
    needs = []
    for lane in lanes:
        name = lane.parsed.name
        for number in range(lane.shards):
            assignment = ShardAssignment(name, number, lane.shards)
            folder = shard_folder(stream_folder, assignment)
            own = survey.of_lane(name, folder)
            publishes = lane.publish and assignment.publishes
            offset = committed.get(name, -1) if publishes else None
            shard = f" shard {number}/{lane.shards}" if lane.shards > 1 else ""
            who = f"lane {name}{shard}"
            needs.append(lane_need(specs[name], who, own, keep, folder, log, offset))
    configured = {lane.parsed.name for lane in lanes}
    for name in survey.lanes:
        if name not in configured:
            needs += unknown_needs(name, survey.of_lane(name), log)
    return needs


def lane_need(
    spec: LaneSpec,
    who: str,
    own: Sequence[Found],
    keep: int,
    folder: Path,
    log: LogDescription,
    committed: int | None,  # None: the lane is not published; -1: there is no offset
) -> Need:
    """What a lane of the configuration, or one of its shards, needs."""
    for path, snapshot in own:
        if problem := foreign(path, snapshot.log, snapshot.position, log):
            return Need(spec.name, who, None, problem)
        if snapshot.settings[spec.name] != spec.settings:
            return Need(
                spec.name, who, None,
                f"{path} was taken with other settings of the lane; restore the settings, or move "
                "the file away",
            )  # fmt: skip
    usable = {
        snapshot.position
        for _, snapshot in own
        if not snapshot.passing
        and snapshot.position >= log.first
        and (
            committed is None
            or snapshot.position <= committed
            or (committed < 0 and spec.name in snapshot.published)
        )
    }
    newest = sorted(usable, reverse=True)[:keep]
    if len(newest) < keep:
        behind = "" if committed is None else " of what it has published"
        return Need(
            spec.name, who, None,
            f"it has {len(newest)} of {keep} snapshots{behind} in {folder}. Its worker may have "
            "just begun, not run, or keep its snapshots on another machine",
        )  # fmt: skip
    return Need(spec.name, who, newest[-1])


def unknown_needs(lane: str, own: Sequence[Found], log: LogDescription) -> list[Need]:
    """What a lane needs that has snapshots but is not in the configuration."""
    who = f"lane {lane}, which is not in the configuration,"
    of_this_log = [
        one.snapshot.position
        for one in own
        if one.snapshot.log == log.identity and one.snapshot.position >= log.first
    ]
    if not of_this_log:
        return []
    return [Need(lane, who, min(of_this_log), is_configured=False)]


def foreign(path: Path, identity: str | None, position: int, log: LogDescription) -> str:
    """What is wrong with a snapshot that does not belong to this log; empty if it does."""
    if identity == log.identity and position <= log.end:
        return ""
    return (
        f"{path} was taken at offset {position} of another log than {log.topic}, which ends at "
        f"{log.end}; move the file away if the log is the right one"
    )
