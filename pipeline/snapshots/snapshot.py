"""Snapshots: the full state of an engine at an offset of the log.

An engine with only some of a snapshot's lanes can be restored from it too. What lanes share (the
vocabulary, topics and pending documents) is equal for all lanes at the same offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.learner import State
from learners.scores import StoredScores
from learners.specs import LEARNERS, differing_options, parse_spec
from pipeline.curves.confidence import arranged
from pipeline.engine.engine import Engine
from pipeline.engine.lane import Lane
from pipeline.engine.lane_group import LaneGroup
from pipeline.snapshots.pending_decisions import decision_arrays
from pipeline.storage.container import Arrays
from pipeline.storage.named_arrays import add_arrays, arrays_under
from pipeline.text.feature_settings import FeatureSettings


class MismatchError(Exception):
    """A snapshot does not match the configuration; the message says which setting differs."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of an engine, and the offset of the log where it was taken."""

    content: dict[str, Any]
    arrays: Arrays
    name: str = "the snapshot"  # in messages: the path of its file

    @property
    def position(self) -> int:
        """The offset of the next record to read."""
        return int(self.content["position"])

    @property
    def all_lanes(self) -> list[str]:
        """The names of all lanes, helpers included."""
        return list(self.content["settings"]["lanes"])

    @property
    def lanes(self) -> list[str]:
        """The names of the lanes without helpers, which may have their own snapshots elsewhere."""
        helpers = self.content.get("helpers", ())
        return [lane for lane in self.all_lanes if lane not in helpers]


def take_snapshot(engine: Engine, position: int) -> Snapshot:
    """Return the state of an engine that has processed the log up to `position`."""
    arrays: Arrays = {}
    add_arrays(arrays, "vocabulary", engine.vocabulary.state())
    for number, lane in enumerate(engine.all_lanes):
        for name, state in parts_of(lane).items():
            add_arrays(arrays, f"lane{number}/{name}", state)
        group = engine.group_of(lane)
        index = group.lanes.index(lane)
        scores = [document.scores[index] for document in group.pending.documents.values()]
        add_arrays(arrays, f"lane{number}/pending", pending_scores(scores))
    content = {
        "position": position,
        "settings": settings_of(engine),
        "helpers": [lane.name for lane in engine.helpers],
        "combines": {lane.name: lane.combines for lane in engine.all_lanes if lane.combines},
        "documents": engine.documents,
        "topics": list(engine.topics.names),  # a copy: the engine goes on while it is written
        "topics_refused": engine.topics.refused,
        **take_group_state(engine.topic_group, "", arrays),
    }
    if engine.rank_group.lanes:
        content["ranks"] = take_group_state(engine.rank_group, "ranks/", arrays)
        content["ranks"]["refused"] = engine.rank_labels.refused
    return Snapshot(content, arrays)


def parts_of(lane: Lane) -> dict[str, State]:
    """Return the states of the parts of a lane, by name."""
    parts = {"learner": lane.learner.state(), "curve": lane.curve.state()}
    if lane.decider is not None and lane.decision_curve is not None:
        parts |= {"decider": lane.decider.state(), "decisions": lane.decision_curve.state()}
    return parts


def take_group_state(group: LaneGroup, prefix: str, arrays: Arrays) -> dict[str, Any]:
    """Return what the lanes of a group share; its arrays are added to `arrays` under a prefix."""
    pending = group.pending
    documents = list(pending.documents.values())
    starts = np.cumsum([0, *(len(document.terms) for document in documents)], dtype=np.int64)
    arrays[f"{prefix}differences"] = group.differences.tallies.copy()
    arrays[f"{prefix}pending/starts"] = starts
    arrays[f"{prefix}pending/terms"] = concatenated([d.terms for d in documents], np.int32)
    arrays[f"{prefix}pending/values"] = concatenated([d.values for d in documents], np.float64)
    arrays[f"{prefix}pending/known"] = np.array([d.known for d in documents], np.int64)
    return {
        "rounds": group.rounds,
        "pending": list(pending.documents),
        "early": list(pending.early.items()),
        "expired_documents": pending.expired_documents,
        "unmatched_labels": pending.unmatched_labels,
        "superseded": pending.superseded,
        "ignored_labels": pending.ignored_labels,
    }


def group_lanes(lanes: dict[str, dict[str, Any]], prefix: str) -> list[str]:
    """Return the names of one group's lanes in a snapshot; the prefix of topic lanes is empty."""
    return [name for name, settings in lanes.items() if ("ranks" in settings) == bool(prefix)]


def pending_scores(documents: list[StoredScores]) -> State:
    """Return a lane's scores of the pending documents as named arrays."""
    state: State = {"scores": concatenated([scores.values for scores in documents], np.float64)}
    topics = [scores.topics for scores in documents if scores.topics is not None]
    if topics:
        state["topics"] = concatenated(topics, np.int32)
    state["counts"] = np.array([len(scores.values) for scores in documents], np.int64)
    return {**state, **decision_arrays(documents)}


def all_scores(arrays: Arrays, lane: str) -> Any:  # noqa: ANN401 - an array
    """Return a lane's scores of pending documents; in older versions they were its only array."""
    return arrays[lane] if lane in arrays else arrays[f"{lane}/scores"]


def learner_state(snapshot: Snapshot, lane: str) -> State:
    """Return the state of a lane's learner."""
    return arrays_under(snapshot.arrays, f"lane{snapshot.all_lanes.index(lane)}/learner")


def single_lane_snapshot(snapshot: Snapshot, lane: str, state: State, pending: State) -> Snapshot:
    """Return a snapshot with only one of the topic lanes, with other states.

    `state` is that of its learner, and `pending` has its scores of pending documents.
    """
    number = snapshot.all_lanes.index(lane)
    settings = snapshot.content["settings"]
    arrays = {
        name: array
        for name, array in snapshot.arrays.items()
        if not name.startswith(("lane", "ranks/"))
    }
    add_arrays(arrays, "lane0/pending", pending)
    for part in ("curve", "decider", "decisions"):  # equal in all shards
        add_arrays(arrays, f"lane0/{part}", arrays_under(snapshot.arrays, f"lane{number}/{part}"))
    add_arrays(arrays, "lane0/learner", state)
    if "differences" in arrays:
        topic_lanes = group_lanes(settings["lanes"], "")
        arrays["differences"] = arranged(arrays["differences"], [topic_lanes.index(lane)])
    content = {
        **snapshot.content,
        "settings": {**settings, "lanes": {lane: settings["lanes"][lane]}},
        "helpers": [],
        "combines": {},
        "published": [name for name in snapshot.content["published"] if name == lane],
    }
    content.pop("ranks", None)
    return Snapshot(content, arrays)


def settings_of(engine: Engine) -> dict[str, Any]:
    """Return the settings that an engine and a snapshot must have in common."""
    features = engine.settings.features
    return {
        "max_terms": features.max_terms,
        "min_df": features.min_df,
        "slope": features.slope,
        **newer_settings(features),
        "max_topics": engine.settings.max_topics,
        "max_pending": engine.settings.max_pending,
        "max_pending_bytes": engine.settings.max_pending_bytes,
        "declared topics": engine.topics.declared,
        "lanes": {lane.name: lane.spec.settings for lane in engine.all_lanes},
    }


def newer_settings(features: FeatureSettings) -> dict[str, Any]:
    """Return the settings that older releases do not know, as far as they are not as there."""
    usual = FeatureSettings()
    given = {"pivot": features.pivot, "norm": features.norm}
    return {key: value for key, value in given.items() if value != getattr(usual, key)}


def check_settings(actual: dict[str, Any], expected: dict[str, Any]) -> None:
    """Raise `MismatchError` if the settings of a snapshot differ from those of the engine."""
    lanes = actual["lanes"]
    # Older versions did not limit the bytes of pending documents: any limit holds from here on.
    actual = {"max_pending_bytes": expected["max_pending_bytes"], **actual}
    usual = {"pivot": FeatureSettings().pivot, "norm": FeatureSettings().norm}
    actual, expected = {**usual, **actual}, {**usual, **expected}
    pairs = [(key, actual.get(key), value) for key, value in expected.items() if key != "lanes"]
    for name, value in expected["lanes"].items():
        was = lanes.get(name)
        if was is not None and was["learner"] in LEARNERS:  # an older version lacks newer options
            was = {**parse_spec(was["learner"]).settings, **was}
        if was is None:
            pairs.append((f"lane {name}", was, value))
            continue
        for option, before, after in differing_options(was, value):
            pairs.append((f"lane {name}: {option}", before, after))
    for key, was, value in pairs:
        if was != value:
            raise MismatchError(
                f"the snapshot was written with {key} = {was}, but the configuration says {value}: "
                "restore the old setting, give a changed lane another name, or start again from "
                "the beginning of the log with an empty snapshot folder"
            )


def concatenated(parts: list[Any], dtype: type[np.generic]) -> Any:  # noqa: ANN401 - any array
    """Concatenate arrays; of no arrays, return an empty one."""
    return np.concatenate([np.empty(0, dtype), *parts])
