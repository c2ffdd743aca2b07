"""Lanes that only rank: loaded from a model, from a snapshot, or from the folder of a worker.

Files are only read. A running worker may write and remove snapshots in its folder meanwhile.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learners.specs import LaneSpec, helpers_of
from pipeline.engine.engine import Engine
from pipeline.errors import UsageError
from pipeline.models.divided_lanes import divided_lanes, joined_snapshot
from pipeline.models.lane_specs import lane_specs
from pipeline.models.model import (
    InputSettings,
    check_format,
    engine_settings_of,
    input_settings_of,
    known_profile,
)
from pipeline.models.model_file import check_kind, check_version
from pipeline.snapshots.content import damage_of, describe, part, text, texts
from pipeline.snapshots.folder import KIND, SUFFIX, VERSION, SnapshotFolder
from pipeline.snapshots.restoring import restore_learners
from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import MAX_LENGTH, ContainerReader

ATTEMPTS = 5  # a worker may remove a snapshot between two looks at its folder


@dataclass(frozen=True, slots=True)
class FrozenLanes:
    """Lanes of one file: they share a vocabulary, and the topics that were known then."""

    name: str  # of the file
    engine: Engine
    input: InputSettings | None  # None: the file does not say how events became terms
    documents: int


def load_frozen_lanes(
    path: Path, wanted: Sequence[str], warn: Callable[[str], None]
) -> list[FrozenLanes]:
    """Load lanes of a model or of the newest snapshots in a folder; without names, all lanes.

    Raises UsageError if something is missing, `DamagedError` if a file is damaged. Damaged
    snapshots in a folder are skipped with a warning, because older ones replace them.
    """
    try:
        if not path.is_dir():
            if not stat.S_ISREG(path.stat().st_mode):
                raise UsageError(f"{path} is neither a file nor a folder; expected a model.")
            return [load_file(path, wanted)]
    except OSError as error:
        raise UsageError(f"The model {path} cannot be read: {error.strerror}.") from None
    for _ in range(ATTEMPTS):
        try:
            return load_folder(path, wanted, warn)
        except FileNotFoundError:
            continue  # replaced by a newer one in this moment
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from None
    raise UsageError(f"The snapshots in {path} are replaced faster than they can be read.")


def load_folder(
    folder: Path, wanted: Sequence[str], warn: Callable[[str], None]
) -> list[FrozenLanes]:
    """Load each lane from the newest good snapshot in a folder that has it."""
    damaged = list[str]()
    found: dict[str, tuple[int, tuple[Path, ...]]] = {}  # by lane: position and files
    for divided in divided_lanes(folder, damaged):
        if divided.position > found.get(divided.lane, (-1, ()))[0]:
            found[divided.lane] = divided.position, divided.paths
    seen = set[str]()
    for path, description in SnapshotFolder(folder).descriptions(damaged):
        for lane in description.lanes:
            if lane not in seen and description.position > found.get(lane, (-1, ()))[0]:
                found[lane] = description.position, (path,)
        seen.update(description.lanes)
        if wanted and seen.issuperset(wanted):
            break
    for problem in damaged:
        warn(f"skipped a damaged snapshot: {problem}.")
    if not found:
        if not damaged and SnapshotFolder(folder).files():
            raise FileNotFoundError  # all that was listed was replaced before it was read
        raise UsageError(no_snapshots(folder))
    check_wanted(wanted, sorted(found), folder)
    files: dict[tuple[Path, ...], list[str]] = {}
    for lane, (_, paths) in found.items():
        if not wanted or lane in wanted:
            files.setdefault(paths, []).append(lane)
    return [
        load_file(paths[0], lanes) if len(paths) == 1 else load_shards(paths)
        for paths, lanes in files.items()
    ]


def load_shards(paths: Sequence[Path]) -> FrozenLanes:
    """Load a lane from the snapshots of all its shards."""
    snapshot = joined_snapshot(paths)
    content, name = snapshot.content, snapshot.name
    with damage_of(name):
        engine = new_engine(content, lane_specs(content, {}, {}), [])
    restore_learners(engine, snapshot)
    return FrozenLanes(name, engine, read_input(content, name), engine.documents)


def no_snapshots(folder: Path) -> str:
    """Return the message about a folder without good snapshots."""
    inner = sorted({str(path.parent) for path in folder.glob(f"*/*{SUFFIX}")})
    if inner:
        return f"{folder} has a folder for each stream; name one of them: {', '.join(inner[:10])}."
    return (
        f"{folder} has no good snapshots: expected files that end in {SUFFIX}. Workers write them "
        "to a folder for each stream, in the `snapshots.folder` of their configuration."
    )


def check_wanted(wanted: Sequence[str], known: Sequence[str], path: Path) -> None:
    """Raise UsageError if a lane is not there."""
    for lane in wanted:
        if lane not in known:
            raise UsageError(f"{path} has no lane {lane!r}. It has: {', '.join(known)}.")


def load_file(path: Path, wanted: Sequence[str]) -> FrozenLanes:
    """Load lanes of a file, and those that they combine. Other lanes are not read."""
    name = str(path)
    with path.open("rb") as file:
        check_kind(path, file.read(len(KIND)))
        file.seek(0)
        check_version(path, file)
        file.seek(0)
        reader = ContainerReader(file, KIND, VERSION, name, max_header_bytes=MAX_LENGTH)
        content = reader.content
        describe(content, name)
        if "exchange" in content:
            raise UsageError(
                f"{name} has one shard of a lane, which cannot rank alone. Name the folder of the "
                "stream, which has the folders of all shards below it."
            )
        with damage_of(name):
            if "model" in content:
                check_format(content["model"], name)
            helpers = texts(content.get("helpers", []))
            every = lane_specs(content, {}, {})
        known = [spec.name for spec in every if spec.name not in helpers]
        check_wanted(wanted, known, path)
        lanes = [spec for spec in every if spec.name in (wanted or known)]
        with damage_of(name):
            engine = new_engine(content, lanes, helpers_of(lanes, every))
            numbers = {spec.name: number for number, spec in enumerate(every)}
            prefixes = ["vocabulary/"]
            prefixes += [
                f"lane{numbers[lane.name]}/{part}/"
                for lane in engine.all_lanes
                for part in ("learner", "decider")
            ]
            arrays = {
                key: reader.array(key) for key in reader.entries if key.startswith(tuple(prefixes))
            }
        restore_learners(engine, Snapshot(content, arrays, name))
        return FrozenLanes(name, engine, read_input(content, name), engine.documents)


def new_engine(
    content: dict[str, Any], lanes: Sequence[LaneSpec], helpers: Sequence[LaneSpec]
) -> Engine:
    """Return an engine with these lanes of a snapshot, none of them divided."""
    settings = content["settings"]
    declared = texts(settings["declared topics"])
    return Engine(lanes, declared, engine_settings_of(settings), threads=1, helpers=helpers)


def read_input(content: dict[str, Any], name: str) -> InputSettings | None:
    """Return how the events of a file became terms; older snapshots of workers do not say it."""
    with damage_of(name), part("model"):
        if "model" in content:
            return input_settings_of(content, name)
        if "profile" not in content:
            return None
        return InputSettings(profile=known_profile(text(content["profile"]), name))
