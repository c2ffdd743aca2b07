"""The specs of lanes, from the settings that snapshots keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learners.options import OptionError, Value
from learners.specs import DECISION_OPTIONS, LEARNERS, LaneSpec, check_decisions
from pipeline.snapshots.content import text, texts

NORMS = ("none", "l2")


def lane_specs(
    content: dict[str, Any], shards: Mapping[str, int], of: Mapping[str, str]
) -> list[LaneSpec]:
    """Return the lanes of a snapshot, helpers included; lanes not in `shards` have one shard.

    `of` has the option of stackers as it was given; others combine all lanes that they can.
    Raises errors of several types if the content is not that of a snapshot: see `damage_of`.
    """
    combines = content.get("combines", {})
    specs = list[LaneSpec]()
    for name, settings in content["settings"]["lanes"].items():
        combined = tuple(texts(combines.get(name, [])))
        own = {**settings, "of": of.get(name, "")} if combined else settings
        specs.append(lane_spec(text(name), own, combined, shards.get(name, 1)))
    return specs


def lane_spec(
    name: str, settings: dict[str, Any], combines: tuple[str, ...], shards: int
) -> LaneSpec:
    """Return the spec of a lane. Options that an older release did not have get their defaults."""
    learner, norm = text(settings["learner"]), text(settings["norm"])
    if learner not in LEARNERS:
        raise ValueError(
            f"lane {name} has the learner {learner!r}, which this release does not have: use the "
            "release that wrote the file"
        )
    if norm not in NORMS:
        raise ValueError(f"lane {name}: norm must be one of {', '.join(NORMS)}, found {norm!r}")
    deciding = {option.name: option for option in DECISION_OPTIONS}
    declared = {option.name: option for option in LEARNERS[learner].options}
    options: dict[str, Value] = {}
    decisions: dict[str, Value] = {option.name: option.default for option in DECISION_OPTIONS}
    try:
        for key, value in settings.items():
            if key in ("learner", "norm") or (key == "of" and not value):
                continue
            if key in deciding and "ranks" not in settings:
                decisions[key] = deciding[key].read(str(value), learner)
                continue
            if key not in declared:
                raise ValueError(f"lane {name} has the option {key!r}, unknown to this release")
            options[key] = declared[key].read(str(value), learner)
        assign, risk = str(decisions["assign"]), float(decisions["risk"])
        order = str(decisions["order"])
        check_decisions(assign, risk, order)
        whole = max(1, shards)
        spec = LaneSpec(name, learner, options, norm, whole, combines, assign, risk, order)
        if spec.shards > 1:
            spec.check_divisible()
    except OptionError as error:
        raise ValueError(f"lane {name}: {error}") from None
    return spec
