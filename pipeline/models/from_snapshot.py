"""Make a model of a worker's snapshot: what a stream has learned, for a replay or another stream.

The model has read no event of a source. So a replay that resumes it learns its source from the
first event, and a stream can begin with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pipeline.engine.engine import Engine
from pipeline.errors import UsageError
from pipeline.log.read_events import EventDigest
from pipeline.models.divided_lanes import divided_lanes, joined_snapshot
from pipeline.models.frozen_lanes import no_snapshots, read_input
from pipeline.models.lane_specs import lane_specs
from pipeline.models.model import InputSettings, RunState, engine_settings_of, take_model
from pipeline.models.model_file import read_whole
from pipeline.snapshots.content import damage_of, texts
from pipeline.snapshots.folder import SnapshotFolder, read_snapshot
from pipeline.snapshots.new_deciders import new_deciders
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import Snapshot
from pipeline.text.profile import canonical_profile


def model_from_snapshot(path: Path, profile: str | None, warn: Callable[[str], None]) -> Snapshot:
    """Return the model of a snapshot, or of the newest one in the folder of a stream.

    `profile` is for snapshots that do not name it. Raises UsageError or `DamagedError`.
    """
    snapshot = newest_snapshot(path, warn) if path.is_dir() else read_whole(path)
    content, name = snapshot.content, snapshot.name
    if "model" in content:
        raise UsageError(f"{name} is a model already.")
    if "exchange" in content:
        raise UsageError(
            f"{name} has one shard of a lane. Name the folder of the stream, which has the folders "
            "of all shards below it."
        )
    helpers = texts(content.get("helpers", []))
    if helpers:
        raise UsageError(
            f"{name} has lanes that only help another lane ({', '.join(helpers)}), so it is not "
            "the whole of them. Name a snapshot of a learner that has all lanes."
        )
    profile = None if profile is None else canonical_profile(profile)
    given = InputSettings(profile=profile) if profile is not None else None
    input_ = read_input(content, name) or given
    if input_ is None:
        raise UsageError(
            f"{name} was written by an older release, which did not note the profile of its "
            "stream; give it with --profile."
        )
    if profile is not None and input_.profile != profile:
        raise UsageError(f"{name} was learned with profile {input_.profile}; leave out --profile.")
    engine = restored(snapshot)
    for line in new_deciders(engine):
        warn(line)
    return take_model(engine, input_, RunState(EventDigest().so_far))


def restored(snapshot: Snapshot) -> Engine:
    """Return an engine with the state of a snapshot, every part of it checked."""
    content = snapshot.content
    with damage_of(snapshot.name):
        settings = content["settings"]
        engine = Engine(
            lane_specs(content, {}, {}),
            texts(settings["declared topics"]),
            engine_settings_of(settings),
            threads=1,
        )
    restore_engine(engine, snapshot)
    return engine


def newest_snapshot(folder: Path, warn: Callable[[str], None]) -> Snapshot:
    """Return the newest good snapshot in a folder that has all lanes of the folder.

    Lanes at different offsets have different vocabularies, and fit into no model together.
    """
    damaged = list[str]()
    files = list(SnapshotFolder(folder).descriptions(damaged))
    divided = list(divided_lanes(folder, damaged))
    for problem in damaged:
        warn(f"skipped a damaged snapshot: {problem}.")
    lanes = {lane for _, description in files for lane in description.lanes}
    if not lanes and len(divided) == 1:
        return joined_snapshot(divided[0].paths)
    in_shards = [one.lane for one in divided]
    if not lanes:
        raise UsageError(several(folder, in_shards) if divided else no_snapshots(folder))
    if divided:
        warn(f"left out, because they are divided into shards: {', '.join(in_shards)}.")
    for path, description in files:
        if lanes.issubset(description.lanes):
            return read_snapshot(path)
    raise UsageError(several(folder, sorted(lanes)))


def several(folder: Path, lanes: Sequence[str]) -> str:
    """Return the message that no single place has all lanes."""
    return (
        f"{folder} has no snapshot with all of its lanes ({', '.join(lanes)}), and lanes at "
        "different offsets cannot be one model. Name one of the files."
    )
