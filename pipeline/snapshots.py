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
from pipeline.comparison import arranged
from pipeline.container import Arrays
from pipeline.engine import Engine
from pipeline.pending import PendingDocument


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
    def lanes(self) -> list[str]:
        """The names of its lanes."""
        return list(self.content["settings"]["lanes"])


def take(engine: Engine, position: int) -> Snapshot:
    """The state of an engine that has processed the log up to `position`."""
    arrays: Arrays = {}
    store(arrays, "vocabulary", engine.vocabulary.state())
    for number, lane in enumerate(engine.lanes):
        store(arrays, f"lane{number}/learner", lane.learner.state())
        store(arrays, f"lane{number}/curve", lane.curve.state())
    arrays["differences"] = engine.differences.tallies.copy()
    waiting = list(engine.pending.documents.values())
    starts = np.cumsum([0, *(len(document.terms) for document in waiting)], dtype=np.int64)
    arrays["pending/starts"] = starts
    arrays["pending/terms"] = joined([d.terms for d in waiting], np.int32)
    arrays["pending/values"] = joined([d.values for d in waiting], np.float64)
    arrays["pending/known"] = np.array([document.known for document in waiting], np.int64)
    for number in range(len(engine.lanes)):
        kept = [document.scores[number] for document in waiting]
        store(arrays, f"lane{number}/pending", waiting_scores(kept))
    content = {
        "position": position,
        "settings": settings_of(engine),
        "documents": engine.documents,
        "rounds": engine.rounds,
        "topics": engine.topics.names,
        "topics_refused": engine.topics.refused,
        "pending": list(engine.pending.documents),
        "early": list(engine.pending.early.items()),
        "expired_documents": engine.pending.expired_documents,
        "unmatched_labels": engine.pending.unmatched_labels,
        "superseded": engine.pending.superseded,
        "ignored_labels": engine.pending.ignored_labels,
    }
    return Snapshot(content, arrays)


def resume(engine: Engine, snapshot: Snapshot) -> None:
    """Make a new engine of the same configuration, with some or all of the lanes, go on."""
    content, arrays = snapshot.content, snapshot.arrays
    check_settings(content["settings"], settings_of(engine))
    places = [snapshot.lanes.index(lane.name) for lane in engine.lanes]
    engine.vocabulary.restore(stored(arrays, "vocabulary"))
    engine.topics.restore(content["topics"], content["topics_refused"])
    engine.documents, engine.rounds = content["documents"], content["rounds"]
    for number, lane in zip(places, engine.lanes, strict=True):
        lane.learner.restore(stored(arrays, f"lane{number}/learner"))
        lane.curve.restore(stored(arrays, f"lane{number}/curve"))
    if "differences" in arrays:  # older versions compared nothing: then it begins here
        engine.differences.tallies = arranged(arrays["differences"], places)
    pending = engine.pending
    pending.early = {key: tuple(topics) for key, topics in content["early"]}
    pending.expired_documents = content["expired_documents"]
    pending.unmatched_labels = content["unmatched_labels"]
    pending.superseded = content["superseded"]
    pending.ignored_labels = content["ignored_labels"]
    pending.documents = dict(
        zip(content["pending"], waiting_documents(arrays, places), strict=True)
    )


def waiting_scores(kept: list[Kept]) -> State:
    """The scores that a lane gave waiting documents, as named arrays."""
    state: State = {"scores": joined([scores.values for scores in kept], np.float64)}
    topics = [scores.topics for scores in kept if scores.topics is not None]
    if topics:
        state["topics"] = joined(topics, np.int32)
        state["counts"] = np.array([len(scores.values) for scores in kept], np.int64)
    return state


def waiting_documents(arrays: Arrays, lanes: Sequence[int]) -> Iterator[PendingDocument]:
    """The documents that waited for their labels, with the scores of these lanes."""
    starts, known = arrays["pending/starts"].tolist(), arrays["pending/known"].tolist()
    scores = [kept_scores(arrays, f"lane{number}/pending", known) for number in lanes]
    for i, count in enumerate(known):
        yield PendingDocument(
            None,
            arrays["pending/terms"][starts[i] : starts[i + 1]].copy(),
            arrays["pending/values"][starts[i] : starts[i + 1]].copy(),
            count,
            [next(kept) for kept in scores],
        )


def kept_scores(arrays: Arrays, lane: str, known: Sequence[int]) -> Iterator[Kept]:
    """Of one document after another, what `waiting_scores` wrote."""
    scores, topics = scores_in(arrays, lane), arrays.get(f"{lane}/topics")
    counts = known if topics is None else arrays[f"{lane}/counts"].tolist()
    at = 0
    for count in counts:
        mine = slice(at, at + count)
        yield Kept(scores[mine].copy(), None if topics is None else topics[mine].copy())
        at += count


def scores_in(arrays: Arrays, lane: str) -> Any:  # noqa: ANN401 - an array
    """The scores of waiting documents; older versions had no other arrays beside them."""
    return arrays[lane] if lane in arrays else arrays[f"{lane}/scores"]


def lane_state(snapshot: Snapshot, lane: str) -> State:
    """The state of a lane's learner."""
    return stored(snapshot.arrays, f"lane{snapshot.lanes.index(lane)}/learner")


def alone(snapshot: Snapshot, lane: str, state: State) -> Snapshot:
    """The snapshot with one of its lanes only, whose learner has this state instead."""
    place = snapshot.lanes.index(lane)
    settings = snapshot.content["settings"]
    arrays = {name: a for name, a in snapshot.arrays.items() if not name.startswith("lane")}
    arrays["lane0/pending/scores"] = scores_in(snapshot.arrays, f"lane{place}/pending")
    store(arrays, "lane0/curve", stored(snapshot.arrays, f"lane{place}/curve"))
    store(arrays, "lane0/learner", state)
    if "differences" in arrays:
        arrays["differences"] = arranged(arrays["differences"], [place])
    content = {
        **snapshot.content,
        "settings": {**settings, "lanes": {lane: settings["lanes"][lane]}},
        "published": [name for name in snapshot.content["published"] if name == lane],
    }
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
        "lanes": {lane.name: lane.spec.settings for lane in engine.lanes},
    }


def check_settings(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Refuse a snapshot that another configuration wrote."""
    lanes = found["lanes"]
    pairs = [(key, found.get(key), value) for key, value in expected.items() if key != "lanes"]
    pairs += [(f"lane {name}", lanes.get(name), value) for name, value in expected["lanes"].items()]
    for key, was, value in pairs:
        if was != value:
            raise MismatchError(
                f"the snapshot was written with {key} = {was}, but the configuration says {value}: "
                "go back to the old setting, give a changed lane another name, or start anew with "
                "an empty snapshot folder"
            )


def store(arrays: Arrays, prefix: str, state: State) -> None:
    """Add a part's arrays under its name."""
    arrays.update({f"{prefix}/{name}": array for name, array in state.items()})


def stored(arrays: Arrays, prefix: str) -> State:
    """The arrays of a part."""
    start = f"{prefix}/"
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}


def joined(pieces: list[Any], dtype: type[np.generic]) -> Any:  # noqa: ANN401 - any array
    """The pieces one after another; of no pieces, an empty array."""
    return np.concatenate([np.empty(0, dtype), *pieces])
