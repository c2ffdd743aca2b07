"""Snapshots of the shards of a lane: joined to that of the whole lane, and divided again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.arrays import Longs
from learners.checks import InvalidArrayError, floats, longs
from learners.learner import Learner, State
from learners.sharding.exchange import DisagreementError
from learners.sharding.parts import divided_state, joined_state
from learners.sharding.topic_slice import TopicSlice
from pipeline.models.lane_specs import lane_spec
from pipeline.snapshots.content import damage_of
from pipeline.snapshots.pending_decisions import only_decisions
from pipeline.snapshots.snapshot import (
    Snapshot,
    all_scores,
    learner_state,
    single_lane_snapshot,
)
from pipeline.storage.named_arrays import arrays_under


def joined_shards(snapshots: Sequence[Snapshot], lane: str) -> Snapshot:
    """The snapshot of a whole lane, given those of all its shards in order.

    Raises `DamagedError` or `DisagreementError` if they do not fit together.
    """
    first = snapshots[0]
    with damage_of(" and ".join(snapshot.name for snapshot in snapshots)):
        if len(snapshots) == 1:
            pending = {**pending_arrays(first, lane), "scores": pending_scores(first, lane)}
            return single_lane_snapshot(first, lane, learner_state(first, lane), pending)
        states = [learner_state(snapshot, lane) for snapshot in snapshots]
        known = known_topics(first)
        if any(not np.array_equal(known_topics(other), known) for other in snapshots):
            raise DisagreementError("the snapshots of the shards do not agree on what is pending")
        topics = topics_within(known)
        scores = np.empty(len(topics))
        for number, snapshot in enumerate(snapshots):
            own = TopicSlice(number, len(snapshots)).owns(topics)
            scores[own] = floats(
                pending_arrays(snapshot, lane), "scores", int(np.count_nonzero(own))
            )
        decided = only_decisions(pending_arrays(first, lane))
        pending = {"scores": scores, "counts": known.copy(), **decided}
        whole = joined_state(learner_of(first, lane), states)
        made = single_lane_snapshot(first, lane, whole, pending)
    made.content.pop("exchange", None)
    return made


def divided_snapshot(whole: Snapshot, lane: str, shard: int, shards: int) -> Snapshot:
    """The snapshot of one shard, given that of a whole lane."""
    own = TopicSlice(shard, shards)
    with damage_of(whole.name):
        known = known_topics(whole)
        scores, topics = pending_scores(whole, lane), topics_within(known)
        if len(scores) != len(topics):
            raise InvalidArrayError("array pending/scores is not one score per known topic")
        counts: Longs = (known - shard + shards - 1) // shards
        pending: State = {"scores": scores[own.owns(topics)], "counts": counts}
        pending |= only_decisions(pending_arrays(whole, lane))
        learner = learner_of(whole, lane)
        state = divided_state(learner, learner_state(whole, lane), shard, shards)
        return single_lane_snapshot(whole, lane, state, pending)


def learner_of(snapshot: Snapshot, lane: str) -> Learner:
    """A new learner with the options of a lane; it knows which arrays of its state have topics."""
    settings = snapshot.content["settings"]["lanes"][lane]
    return lane_spec(lane, settings, (), 1).whole_learner()


def known_topics(snapshot: Snapshot) -> Longs:
    """How many topics were known to each document that waits for its label."""
    return longs(snapshot.arrays, "pending/known", None)


def topics_within(known: Longs) -> Longs:
    """The topics of all pending documents, one after another."""
    starts = np.cumsum(known) - known
    topics: Longs = np.arange(known.sum()) - np.repeat(starts, known)
    return topics


def pending_arrays(snapshot: Snapshot, lane: str) -> State:
    """What a snapshot keeps of a lane's scores of pending documents."""
    return arrays_under(snapshot.arrays, f"lane{snapshot.all_lanes.index(lane)}/pending")


def pending_scores(snapshot: Snapshot, lane: str) -> np.ndarray:
    """A whole lane's scores of pending documents."""
    scores = all_scores(snapshot.arrays, f"lane{snapshot.all_lanes.index(lane)}/pending")
    return floats({"pending/scores": scores}, "pending/scores", None)
