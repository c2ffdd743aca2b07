"""Whether a run has the settings of the model that it resumes; if not, everything that differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from learners.specs import LaneSpec, differing_options
from pipeline.engine.engine import EngineSettings
from pipeline.errors import UsageError
from pipeline.models.model import InputSettings, Model

MOST_SHOWN = 20


def check_same_settings(
    model: Model,
    lanes: Sequence[LaneSpec],
    declared_topics: Sequence[str],
    engine: EngineSettings,
    profile: str,
) -> None:
    """Raise UsageError, with all differences, if a run has other settings than its model."""
    found = [
        *lane_differences(model.lanes, lanes),
        *setting_differences(settings_by_name(model.engine), settings_by_name(engine)),
        *setting_differences({"--profile": model.input.profile}, {"--profile": profile}),
        *topic_differences(model.declared_topics, declared_topics),
    ]
    refuse(model, found, "Leave these options out, so that they are those of the model")


def check_same_events(model: Model, input_: InputSettings) -> None:
    """Raise UsageError if the source of a model is now read in another way."""
    found = list(setting_differences(events_by_name(model.input), events_by_name(input_)))
    refuse(model, found, "Read the source of the model as before")


def refuse(model: Model, found: Sequence[str], advice: str) -> None:
    """Raise UsageError if there are differences."""
    if not found:
        return
    more = [f"and {len(found) - MOST_SHOWN:,} more"] if len(found) > MOST_SHOWN else []
    listed = "\n  ".join([*found[:MOST_SHOWN], *more])
    raise UsageError(
        f"{model.name} was saved with other settings. {advice}, or start a new model without "
        f"--resume. What differs:\n  {listed}"
    )


def settings_by_name(settings: EngineSettings) -> dict[str, Any]:
    """Return the settings of an engine by the names of their options."""
    features = settings.features
    return {
        "--max-terms": features.max_terms,
        "--min-df": features.min_df,
        "slope": features.slope,
        "pivot": features.pivot,
        "norm": features.norm,
        "--max-topics": settings.max_topics,
        "--max-pending": settings.max_pending,
        "--max-pending-bytes": settings.max_pending_bytes,
    }


def events_by_name(input_: InputSettings) -> dict[str, Any]:
    """Return how events are read, by the names of the options."""
    fields = input_.fields
    return {
        "--format": input_.format,
        "--fields": None if fields is None else dict(fields.settings),
    }


def setting_differences(saved: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each setting that differs."""
    for name, value in saved.items():
        if value != given[name]:
            yield f"{name}: {value} in the model, {given[name]} now"


def lane_differences(saved: Sequence[LaneSpec], given: Sequence[LaneSpec]) -> Iterator[str]:
    """Yield a line for each lane that only one side has, and for each option that differs."""
    now = {lane.name: lane for lane in given}
    for lane in saved:
        other = now.pop(lane.name, None)
        if other is None:
            yield f"lane {lane.name}: in the model, but not in this run"
            continue
        for key, before, after in differing_options(lane.settings, other.settings):
            yield f"lane {lane.name}: {key} = {before} in the model, {after} now"
    for name in now:
        yield f"lane {name}: in this run, but not in the model"


def topic_differences(saved: Sequence[str], given: Sequence[str]) -> Iterator[str]:
    """Yield a line if the declared topics differ."""
    if list(saved) == list(given):
        return
    for number, (topic, other) in enumerate(zip(saved, given, strict=False), start=1):
        if topic != other:
            yield f"declared topics: number {number} is {topic} in the model, {other} now"
            return
    yield f"declared topics: {len(saved):,} in the model, {len(given):,} now"
