"""Snapshots: everything that an engine is, so that it can go on where it was.

An engine with some of a snapshot's lanes can go on from it too: what lanes share (vocabulary,
topics, waiting documents) is the same for all that have followed the log as far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learners.learner import State
from learners.scores import Kept
from learners.specs import LEARNERS, parse_spec
from pipeline.curves.confidence import arranged
from pipeline.engine.engine import Engine
from pipeline.engine.lane_group import LaneGroup
from pipeline.engine.pending_labels import PendingDocument
from pipeline.storage.container import Arrays


class MismatchError(Exception):
    """A snapshot of another configuration; the message says which part differs."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of an engine, and where in the log it was taken."""

    content: dict[str, Any]
    arrays: Arrays

    @property
    def position(self) -> int:
        """How far into the log the engine was: the next entry to read."""
        return int(self.content["position"])

    @property
    def all_lanes(self) -> list[str]:
        """The names of the lanes that it has arrays of."""
        return list(self.content["settings"]["lanes"])

    @property
    def lanes(self) -> list[str]:
        """The names of its lanes: not of helpers, which others may keep themselves, elsewhere."""
        helpers = self.content.get("helpers", ())
        return [lane for lane in self.all_lanes if lane not in helpers]


def take_snapshot(engine: Engine, position: int) -> Snapshot:
    """The state of an engine that has processed the log up to `position`."""
    arrays: Arrays = {}
    add_arrays(arrays, "vocabulary", engine.vocabulary.state())
    for number, lane in enumerate(engine.all_lanes):
        add_arrays(arrays, f"lane{number}/learner", lane.learner.state())
        add_arrays(arrays, f"lane{number}/curve", lane.curve.state())
        waiting = engine.group_of(lane).pending.documents.values()
        place = engine.group_of(lane).lanes.index(lane)
        kept = [document.scores[place] for document in waiting]
        add_arrays(arrays, f"lane{number}/pending", waiting_scores(kept))
    content = {
        "position": position,
        "settings": settings_of(engine),
        "helpers": [lane.name for lane in engine.helpers],
        "combines": {lane.name: lane.combines for lane in engine.all_lanes if lane.combines},
        "documents": engine.documents,
        "topics": engine.topics.names,
        "topics_refused": engine.topics.refused,
        **take_group_state(engine.topic_group, "", arrays),
    }
    if engine.rank_group.lanes:
        content["ranks"] = take_group_state(engine.rank_group, "ranks/", arrays)
        content["ranks"]["refused"] = engine.rank_labels.refused
    return Snapshot(content, arrays)


def take_group_state(group: LaneGroup, prefix: str, arrays: Arrays) -> dict[str, Any]:
    """What the lanes of a group share; arrays join the others under a prefix."""
    pending = group.pending
    waiting = list(pending.documents.values())
    starts = np.cumsum([0, *(len(document.terms) for document in waiting)], dtype=np.int64)
    arrays[f"{prefix}differences"] = group.differences.tallies.copy()
    arrays[f"{prefix}pending/starts"] = starts
    arrays[f"{prefix}pending/terms"] = joined([d.terms for d in waiting], np.int32)
    arrays[f"{prefix}pending/values"] = joined([d.values for d in waiting], np.float64)
    arrays[f"{prefix}pending/known"] = np.array([d.known for d in waiting], np.int64)
    return {
        "rounds": group.rounds,
        "pending": list(pending.documents),
        "early": list(pending.early.items()),
        "expired_documents": pending.expired_documents,
        "unmatched_labels": pending.unmatched_labels,
        "superseded": pending.superseded,
        "ignored_labels": pending.ignored_labels,
    }


def restore_engine(engine: Engine, snapshot: Snapshot) -> None:
    """Make a new engine of the same configuration, with some or all of the lanes, go on."""
    content, arrays = snapshot.content, snapshot.arrays
    check_settings(content["settings"], settings_of(engine))
    engine.vocabulary.restore(arrays_under(arrays, "vocabulary"))
    engine.documents = content["documents"]
    for lane in engine.all_lanes:
        number = snapshot.all_lanes.index(lane.name)
        lane.learner.restore(arrays_under(arrays, f"lane{number}/learner"))
        lane.curve.restore(arrays_under(arrays, f"lane{number}/curve"))
    if engine.topic_group.lanes:  # without such lanes nothing would keep the topics up to date
        engine.topics.restore(content["topics"], content["topics_refused"])
        restore_group_state(engine.topic_group, "", content, snapshot)
    if engine.rank_group.lanes:
        restore_group_state(engine.rank_group, "ranks/", content["ranks"], snapshot)
        engine.rank_labels.refused = content["ranks"]["refused"]


def restore_group_state(
    group: LaneGroup, prefix: str, content: dict[str, Any], taken: Snapshot
) -> None:
    """Restore what `take_group_state` took, with the scores of the lanes that are here."""
    arrays, pending = taken.arrays, group.pending
    group.rounds = content["rounds"]
    mine = group_lanes(taken.content["settings"]["lanes"], prefix)
    if f"{prefix}differences" in arrays:  # older versions compared nothing: then it begins here
        places = [mine.index(lane.name) for lane in group.lanes]
        group.differences.tallies = arranged(arrays[f"{prefix}differences"], places)
    pending.early = {key: tuple(label) for key, label in content["early"]}
    pending.expired_documents = content["expired_documents"]
    pending.unmatched_labels = content["unmatched_labels"]
    pending.superseded = content["superseded"]
    pending.ignored_labels = content["ignored_labels"]
    numbers = [taken.all_lanes.index(lane.name) for lane in group.lanes]
    waiting = waiting_documents(arrays, prefix, numbers)
    pending.documents = dict(zip(content["pending"], waiting, strict=True))


def group_lanes(lanes: dict[str, dict[str, Any]], prefix: str) -> list[str]:
    """Of a snapshot's lanes those of one group, in its order; ordinal ones have ranks."""
    return [name for name, settings in lanes.items() if ("ranks" in settings) == bool(prefix)]


def waiting_scores(kept: list[Kept]) -> State:
    """The scores that a lane gave waiting documents, as named arrays."""
    state: State = {"scores": joined([scores.values for scores in kept], np.float64)}
    topics = [scores.topics for scores in kept if scores.topics is not None]
    if topics:
        state["topics"] = joined(topics, np.int32)
    state["counts"] = np.array([len(scores.values) for scores in kept], np.int64)
    return state


def waiting_documents(
    arrays: Arrays, prefix: str, lanes: Sequence[int]
) -> Iterator[PendingDocument]:
    """The documents that waited for their labels, with the scores of these lanes."""
    starts = arrays[f"{prefix}pending/starts"].tolist()
    known = arrays[f"{prefix}pending/known"].tolist()
    scores = [kept_scores(arrays, f"lane{number}/pending", known) for number in lanes]
    for i, count in enumerate(known):
        yield PendingDocument(
            None,
            arrays[f"{prefix}pending/terms"][starts[i] : starts[i + 1]].copy(),
            arrays[f"{prefix}pending/values"][starts[i] : starts[i + 1]].copy(),
            count,
            [next(kept) for kept in scores],
        )


def kept_scores(arrays: Arrays, lane: str, known: Sequence[int]) -> Iterator[Kept]:
    """Of one document after another, what `waiting_scores` wrote."""
    scores, topics = scores_in(arrays, lane), arrays.get(f"{lane}/topics")
    counts = arrays[f"{lane}/counts"].tolist() if f"{lane}/counts" in arrays else known
    at = 0
    for count in counts:
        mine = slice(at, at + count)
        yield Kept(scores[mine].copy(), None if topics is None else topics[mine].copy())
        at += count


def scores_in(arrays: Arrays, lane: str) -> Any:  # noqa: ANN401 - an array
    """The scores of waiting documents; older versions had no other arrays beside them."""
    return arrays[lane] if lane in arrays else arrays[f"{lane}/scores"]


def learner_state(snapshot: Snapshot, lane: str) -> State:
    """The state of a lane's learner."""
    return arrays_under(snapshot.arrays, f"lane{snapshot.all_lanes.index(lane)}/learner")


def single_lane_snapshot(snapshot: Snapshot, lane: str, state: State) -> Snapshot:
    """The snapshot with one of its topic lanes only, whose learner has this state instead."""
    place = snapshot.all_lanes.index(lane)
    settings = snapshot.content["settings"]
    arrays = {
        name: array
        for name, array in snapshot.arrays.items()
        if not name.startswith(("lane", "ranks/"))
    }
    add_arrays(arrays, "lane0/pending", arrays_under(snapshot.arrays, f"lane{place}/pending"))
    arrays["lane0/pending/scores"] = scores_in(snapshot.arrays, f"lane{place}/pending")
    add_arrays(arrays, "lane0/curve", arrays_under(snapshot.arrays, f"lane{place}/curve"))
    add_arrays(arrays, "lane0/learner", state)
    if "differences" in arrays:
        of_topics = group_lanes(settings["lanes"], "")
        arrays["differences"] = arranged(arrays["differences"], [of_topics.index(lane)])
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
    """What two engines must have in common for one to go on where the other was."""
    features = engine.settings.features
    return {
        "max_terms": features.max_terms,
        "min_df": features.min_df,
        "slope": features.slope,
        "max_topics": engine.settings.max_topics,
        "max_pending": engine.settings.max_pending,
        "declared topics": engine.topics.declared,
        "lanes": {lane.name: lane.spec.settings for lane in engine.all_lanes},
    }


def check_settings(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Refuse a snapshot that another configuration wrote."""
    lanes = found["lanes"]
    pairs = [(key, found.get(key), value) for key, value in expected.items() if key != "lanes"]
    for name, value in expected["lanes"].items():
        was = lanes.get(name)
        if was is not None and was["learner"] in LEARNERS:  # options that it did not have yet
            was = {**parse_spec(was["learner"]).settings, **was}
        pairs.append((f"lane {name}", was, value))
    for key, was, value in pairs:
        if was != value:
            raise MismatchError(
                f"the snapshot was written with {key} = {was}, but the configuration says {value}: "
                "go back to the old setting, give a changed lane another name, or start anew with "
                "an empty snapshot folder"
            )


def add_arrays(arrays: Arrays, prefix: str, state: State) -> None:
    """Add a part's arrays under its name."""
    arrays.update({f"{prefix}/{name}": array for name, array in state.items()})


def arrays_under(arrays: Arrays, prefix: str) -> State:
    """The arrays of a part."""
    start = f"{prefix}/"
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}


def joined(pieces: list[Any], dtype: type[np.generic]) -> Any:  # noqa: ANN401 - any array
    """The pieces one after another; of no pieces, an empty array."""
    return np.concatenate([np.empty(0, dtype), *pieces])
