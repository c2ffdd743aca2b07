"""A model: the snapshot of a replay, with everything else that a later run needs to go on.

The file is a snapshot (`WRSN`) whose content has one more key, `model`. It depends on the events
that were read and on the settings, and on nothing else: no times, no paths, no block size. So a run
that was interrupted and resumed saves the same bytes as a run without a break.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from learners.specs import LaneSpec
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.errors import UsageError
from pipeline.events.fields import FieldMapping, parse_fields
from pipeline.events.formats import check_format as check_event_format
from pipeline.log.read_events import ReadEvents
from pipeline.models.lane_specs import lane_specs
from pipeline.release import release
from pipeline.snapshots.content import damage_of, part, text, texts, whole
from pipeline.snapshots.snapshot import Snapshot, take_snapshot
from pipeline.storage.container import DamagedError
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.profile import PLAIN_PROFILE, canonical_profile

FORMAT = 1  # of the key `model`; older formats are read, newer ones are refused
MAX_SHARDS = 64


@dataclass(frozen=True, slots=True)
class InputSettings:
    """How events become terms: the format of the events, their fields, and the profile."""

    format: str = "wirerank"
    fields: FieldMapping | None = None
    profile: str = PLAIN_PROFILE  # in canonical form


@dataclass(frozen=True, slots=True)
class WrittenRankings:
    """The rankings that a run has written to its file so far: their bytes, and a checksum."""

    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class RunState:
    """What a run knows beside its engine."""

    read: ReadEvents
    dead_letters: Mapping[str, int] = field(default_factory=dict)  # by reason
    rankings: WrittenRankings | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """A model that was read from a file."""

    snapshot: Snapshot
    lanes: list[LaneSpec]
    declared_topics: list[str]
    engine: EngineSettings
    input: InputSettings
    run: RunState

    @property
    def name(self) -> str:
        """The path of its file, for messages."""
        return self.snapshot.name


def take_model(engine: Engine, input_: InputSettings, run: RunState) -> Snapshot:
    """Return the snapshot of a run between two blocks, with all that a model has."""
    snapshot = take_snapshot(engine, run.read.events)
    fields = input_.fields
    snapshot.content["model"] = {
        "format": FORMAT,
        "release": release(),
        "events": {
            "format": input_.format,
            "fields": None if fields is None else dict(fields.settings),
            "profile": input_.profile,
        },
        "shards": {lane.name: lane.spec.shards for lane in engine.lanes if lane.spec.shards > 1},
        "of": {
            lane.name: lane.spec.options["of"] for lane in engine.lanes if "of" in lane.spec.options
        },
        "read": {
            "events": run.read.events,
            "digest": run.read.digest,
            "first_digest": run.read.first_digest,
        },
        "dead_letters": dict(sorted(run.dead_letters.items())),
        "rankings": None
        if run.rankings is None
        else {"bytes": run.rankings.size, "crc32": run.rankings.crc},
    }
    return snapshot


def model_of(snapshot: Snapshot) -> Model:
    """Return the model in a snapshot, or raise `DamagedError`, or UsageError if it has none."""
    content = snapshot.content
    if "model" not in content:
        raise UsageError(
            f"{snapshot.name} is the snapshot of a worker. It has no place in a source, so a "
            "replay cannot go on from it. `wirerank rank` reads it; `wirerank replay --save` "
            "writes models that a replay can resume."
        )
    with damage_of(snapshot.name), part("model"):
        check_format(content["model"], snapshot.name)
        settings = content["settings"]
        shards = {
            text(lane): whole(count, MAX_SHARDS)
            for lane, count in content["model"]["shards"].items()
        }
        of = {text(lane): text(option) for lane, option in content["model"]["of"].items()}
        return Model(
            snapshot,
            lane_specs(content, shards, of),
            texts(settings["declared topics"]),
            engine_settings_of(settings),
            input_settings_of(content, snapshot.name),
            run_state_of(content["model"]),
        )


def check_format(model: dict[str, Any], name: str) -> None:
    """Raise `DamagedError` if a model has a format that only a newer release can read."""
    format_ = whole(model["format"])
    if not 1 <= format_ <= FORMAT:
        raise DamagedError(
            f"{name} has model format {format_}, written by Wirerank {text(model['release'])}, but "
            f"this is Wirerank {release()}, which reads formats up to {FORMAT}: use "
            "that release or a newer one"
        )


def engine_settings_of(settings: dict[str, Any]) -> EngineSettings:
    """Return the settings of the engine that a snapshot was taken of."""
    defaults = EngineSettings()
    usual = defaults.features
    try:
        features = FeatureSettings(
            whole(settings["max_terms"]),
            whole(settings["min_df"]),
            number(settings["slope"], "slope"),
            number(settings.get("pivot", usual.pivot), "pivot"),
            text(settings.get("norm", usual.norm)),
        )
    except UsageError as error:
        raise ValueError(str(error)) from None
    return EngineSettings(
        features,
        whole(settings["max_topics"]),
        whole(settings["max_pending"]),
        whole(settings.get("max_pending_bytes", defaults.max_pending_bytes)),
    )


def number(value: object, name: str) -> float:
    """Return a number that was read from a file."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name}: expected a number, found {type(value).__name__}")
    return float(value)


def known_profile(profile: str, name: str) -> str:
    """Return the canonical name of a file's profile; raise `DamagedError` if there is none."""
    try:
        return canonical_profile(profile)
    except UsageError as error:
        raise DamagedError(
            f"{name} was learned with profile {profile[:300]!r}, which Wirerank {release()} does "
            f"not know: use the release that wrote it, or a newer one ({error})"
        ) from None


def input_settings_of(content: dict[str, Any], name: str) -> InputSettings:
    """Return how the events of a model became terms."""
    events = content["model"]["events"]
    profile, format_ = known_profile(text(events["profile"]), name), text(events["format"])
    try:
        check_event_format(format_)
        fields = None if events["fields"] is None else parse_fields(events["fields"])
    except UsageError as error:
        raise ValueError(str(error)) from None
    return InputSettings(format_, fields, profile)


def run_state_of(model: dict[str, Any]) -> RunState:
    """Return what the run knew beside its engine."""
    read, rankings = model["read"], model["rankings"]
    return RunState(
        ReadEvents(whole(read["events"]), text(read["digest"]), text(read["first_digest"])),
        Counter({text(reason): whole(count) for reason, count in model["dead_letters"].items()}),
        None
        if rankings is None
        else WrittenRankings(whole(rankings["bytes"]), whole(rankings["crc32"], (1 << 32) - 1)),
    )
