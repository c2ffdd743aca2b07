"""Give an engine the state of a snapshot, after a check of everything in it.

A snapshot comes from outside the process. Its checksum proves that the file is as it was written.
It does not prove that its numbers fit together, and kernels use many of them as indices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Longs
from learners.checks import (
    MAX_COUNT,
    InvalidArrayError,
    array_of,
    check_between,
    check_range,
    floats,
    ints,
    longs,
    starts,
)
from learners.scores import RANK, StoredScores
from pipeline.curves.confidence import COMPARED, ROUNDS, SPREAD, arranged
from pipeline.engine.engine import Engine
from pipeline.engine.labels import TopicLabels
from pipeline.engine.lane import Lane
from pipeline.engine.lane_group import LaneGroup
from pipeline.engine.pending_labels import Label, PendingDocument
from pipeline.snapshots.content import damage_of, distinct_texts, part, whole
from pipeline.snapshots.pending_decisions import pending_decisions
from pipeline.snapshots.snapshot import (
    Snapshot,
    check_settings,
    group_lanes,
    settings_of,
)
from pipeline.storage.container import Arrays
from pipeline.storage.named_arrays import arrays_under

GROUP_COUNTS = ("expired_documents", "unmatched_labels", "superseded", "ignored_labels")


def restore_engine(engine: Engine, snapshot: Snapshot) -> None:
    """Give a new engine the state of a snapshot.

    The engine must have the same settings, and some or all of the snapshot's lanes. Raises
    `MismatchError` if it has not, and `DamagedError` if the snapshot is not one that an engine
    could have given. The engine cannot be used after that.
    """
    content, arrays = snapshot.content, snapshot.arrays
    with damage_of(snapshot.name):
        check_settings(content["settings"], settings_of(engine))
        with part("vocabulary"):
            engine.vocabulary.restore(arrays_under(arrays, "vocabulary"))
        with part("documents"):
            engine.documents = whole(content["documents"], MAX_COUNT)
        if engine.topic_group.lanes:  # without topic lanes nothing would keep the topics up to date
            with part("topics"):
                restore_topics(engine, content)
        for lane in engine.all_lanes:
            restore_lane(engine, lane, snapshot)
        if engine.topic_group.lanes:
            restore_group_state(engine, engine.topic_group, "", content, snapshot)
        if engine.rank_group.lanes:
            ranks = content["ranks"]
            restore_group_state(engine, engine.rank_group, "ranks/", ranks, snapshot)
            engine.rank_labels.refused = whole(ranks["refused"], MAX_COUNT)


def restore_learners(engine: Engine, snapshot: Snapshot) -> None:
    """Give a new engine what it ranks with: terms, topics, learners and the number of rounds.

    It has neither curves nor pending documents then, so it must not learn.
    """
    content = snapshot.content
    with damage_of(snapshot.name):
        with part("vocabulary"):
            engine.vocabulary.restore(arrays_under(snapshot.arrays, "vocabulary"))
        with part("documents"):
            engine.documents = whole(content["documents"], MAX_COUNT)
        if engine.topic_group.lanes:
            with part("topics"):
                restore_topics(engine, content)
            engine.topic_group.rounds = whole(content["rounds"], MAX_COUNT)
        if engine.rank_group.lanes:
            engine.rank_group.rounds = whole(content["ranks"]["rounds"], MAX_COUNT)
        for lane in engine.all_lanes:
            restore_learner(engine, lane, snapshot)


def restore_topics(engine: Engine, content: dict[str, Any]) -> None:
    """Restore the names of the topics; the declared topics are always the first."""
    names = distinct_texts(content["topics"], engine.topics.max_topics)
    declared = engine.topics.declared
    if names[: len(declared)] != declared:
        raise ValueError("the first topics are not those that are declared")
    engine.topics.restore(names, whole(content["topics_refused"], MAX_COUNT))


def restore_lane(engine: Engine, lane: Lane, snapshot: Snapshot) -> None:
    """Restore the learner and the learning curve of a lane."""
    restore_learner(engine, lane, snapshot)
    number = snapshot.all_lanes.index(lane.name)
    labels = engine.group_of(lane).labels.known
    with part(f"lane {lane.name}, curve"):
        lane.curve.restore(arrays_under(snapshot.arrays, f"lane{number}/curve"))
        lane.curve.check_references(labels)
    if lane.decision_curve is not None:
        with part(f"lane {lane.name}, decisions"):
            lane.decision_curve.restore(arrays_under(snapshot.arrays, f"lane{number}/decisions"))
            lane.decision_curve.check_references(labels)
            if lane.decision_curve.rounds != lane.curve.rounds:
                raise InvalidArrayError(
                    f"{lane.decision_curve.rounds} rounds, but the curve has {lane.curve.rounds}"
                )


def restore_learner(engine: Engine, lane: Lane, snapshot: Snapshot) -> None:
    """Restore the learner of a lane, and what decides which topics it assigns."""
    number = snapshot.all_lanes.index(lane.name)
    labels = engine.group_of(lane).labels.known
    with part(f"lane {lane.name}, learner"):
        lane.learner.restore(arrays_under(snapshot.arrays, f"lane{number}/learner"))
        lane.learner.check_references(len(engine.vocabulary), labels, len(lane.combines))
    if lane.decider is not None:
        with part(f"lane {lane.name}, decider"):
            lane.decider.restore(arrays_under(snapshot.arrays, f"lane{number}/decider"))
            lane.decider.check_references(labels)


def restore_group_state(
    engine: Engine, group: LaneGroup, prefix: str, content: dict[str, Any], snapshot: Snapshot
) -> None:
    """Restore what `take_group_state` returned, with the scores of the group's lanes."""
    pending = group.pending
    with part("rounds"):
        group.rounds = whole(content["rounds"], MAX_COUNT)
    # Older versions did not compare lanes; then the comparison begins here.
    if f"{prefix}differences" in snapshot.arrays:
        names = group_lanes(snapshot.content["settings"]["lanes"], prefix)
        tallies = checked_differences(snapshot.arrays, f"{prefix}differences", len(names))
        indices = [names.index(lane.name) for lane in group.lanes]
        group.differences.tallies = arranged(tallies, indices)
    for key in GROUP_COUNTS:
        with part(key):
            setattr(pending, key, whole(content[key], MAX_COUNT))
    with part("early labels"):
        early = early_labels(group, content["early"])
    with part("pending documents"):
        ids = distinct_texts(content["pending"], pending.max_pending)
        documents = pending_documents(engine, group, prefix, len(ids), snapshot)
        pending.restore(dict(zip(ids, documents, strict=True)), early)


def checked_differences(arrays: Arrays, name: str, lanes: int) -> Floats:
    """Return the tallies of all pairs of lanes."""
    tallies = floats(arrays, name, lanes, lanes, len(COMPARED), 3)
    check_between(f"{name}, rounds", tallies[..., ROUNDS], 0.0, MAX_COUNT)
    check_between(f"{name}, spread", tallies[..., SPREAD], 0.0)
    return tallies


def early_labels(group: LaneGroup, pairs: list[Any]) -> dict[str, Label]:
    """Return the labels that came before their documents: topics, or one rank."""
    ids = distinct_texts([key for key, _ in pairs], group.pending.max_pending)
    labels = [label for _, label in pairs]
    if isinstance(group.labels, TopicLabels):
        return {
            key: tuple(distinct_texts(label, MAX_COUNT))
            for key, label in zip(ids, labels, strict=True)
        }
    for (rank,) in labels:
        if whole(rank) < 1:
            raise ValueError("a rank is below 1")
    return {key: tuple(label) for key, label in zip(ids, labels, strict=True)}


def pending_documents(
    engine: Engine, group: LaneGroup, prefix: str, count: int, snapshot: Snapshot
) -> Iterator[PendingDocument]:
    """Yield the pending documents of a snapshot, with the scores of the group's lanes."""
    arrays, name = snapshot.arrays, f"{prefix}pending"
    terms = ints(arrays, f"{name}/terms", None, below=len(engine.vocabulary))
    values = floats(arrays, f"{name}/values", len(terms))
    cuts = starts(arrays, f"{name}/starts", len(terms), count).tolist()
    known = longs(arrays, f"{name}/known", count, below=group.labels.known + 1)
    scores = [
        scores_by_document(
            arrays, f"lane{snapshot.all_lanes.index(lane.name)}/pending", lane, known
        )
        for lane in group.lanes
    ]
    for i, labels in enumerate(known.tolist()):
        some = slice(cuts[i], cuts[i + 1])
        yield PendingDocument(
            None, terms[some].copy(), values[some].copy(), labels, [lane[i] for lane in scores]
        )


def scores_by_document(
    arrays: Arrays, name: str, lane: Lane, known: Longs
) -> Sequence[StoredScores]:
    """Return a lane's scores of each pending document, from the arrays of `pending_scores`."""
    scores_name = name if name in arrays else f"{name}/scores"  # older versions had only these
    scores = floats(arrays, scores_name, None)
    kept = lane.learner.stored_scores(known)
    counts = kept
    if f"{name}/counts" in arrays:
        counts = longs(arrays, f"{name}/counts", len(known), below=len(scores) + 1)
    if counts.sum() != len(scores):
        raise InvalidArrayError(
            f"array {scores_name} has {len(scores)} scores, but {counts.sum()} are counted"
        )
    cuts = np.concatenate(([0], np.cumsum(counts)))
    topics: npt.NDArray[np.int32] | None = None
    if lane.is_ordinal:
        check_ranks(scores_name, counts, scores, lane.learner.ranks)
    elif lane.has_sparse_scores and f"{name}/topics" in arrays:
        topics = array_of(arrays, f"{name}/topics", np.int32, len(scores))
        check_retrieved(f"{name}/topics", topics, np.repeat(known, counts), cuts)
    elif not np.array_equal(counts, kept):
        raise InvalidArrayError(f"array {name}/counts is not the number of known topics")
    spans = [slice(start, stop) for start, stop in pairwise(cuts.tolist())]
    decisions = [b""] * len(spans)
    if lane.decider is not None:
        decisions = pending_decisions(arrays, name, known)
    return [
        StoredScores(scores[span].copy(), None if topics is None else topics[span].copy(), decision)
        for span, decision in zip(spans, decisions, strict=True)
    ]


def check_ranks(name: str, counts: Longs, scores: Floats, ranks: int) -> None:
    """Raise `InvalidArrayError` unless there are a rank and a score of each document."""
    if (counts != 2).any():
        raise InvalidArrayError(f"array {name} does not have a rank and a score of each document")
    predicted = scores[RANK::2]
    check_between(f"{name}, ranks", predicted, 1.0, ranks)
    if (predicted % 1.0).any():
        raise InvalidArrayError(f"array {name} has a rank that is not a whole number")


def check_retrieved(name: str, topics: npt.NDArray[np.int32], known: Longs, cuts: Longs) -> None:
    """Raise `InvalidArrayError` unless the topics of each document are known and different."""
    check_range(name, topics, 0, int(known.max(initial=0)))
    document = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    pairs = np.unique(document * (int(known.max(initial=0)) + 1) + topics)
    if (topics >= known).any() or len(pairs) != len(topics):
        raise InvalidArrayError(f"array {name} has a topic twice, or one that was not known")
