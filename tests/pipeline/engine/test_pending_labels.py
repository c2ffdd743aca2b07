"""What waits is bounded in bytes, and everybody agrees on what is dropped.

The charge of a document follows from the log alone. So blocks, lanes, shards and restarts do not
change which documents wait.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from learners.specs import parse_spec
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.engine.pending_labels import (
    CHARACTER_BYTES,
    DOCUMENT_BYTES,
    PendingDocument,
    PendingLabels,
    charge_document,
    charge_label,
)
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import MismatchError, take_snapshot
from pipeline.text.feature_settings import FeatureSettings
from tests.pipeline.engine.test_engine import (
    LANES,
    TOKENIZER,
    label,
    random_events,
    run,
    unlabelled,
)

LANE_SETS = (LANES, LANES[:1], ("mmp:loss=1,shards=3", "prank:ranks=3"), ("frequency",))


def settings(max_bytes: int) -> EngineSettings:
    return EngineSettings(FeatureSettings(max_terms=40), max_topics=6, max_pending_bytes=max_bytes)


def new_engine(max_bytes: int, lanes: Sequence[str] = LANES) -> Engine:
    return Engine([parse_spec(lane) for lane in lanes], (), settings(max_bytes))


def waiting(engine: Engine) -> list[object]:
    """What waits in each group, what it is charged, and what was dropped."""
    return [
        (
            [(key, document.charge) for key, document in group.pending.documents.items()],
            group.pending.document_bytes,
            list(group.pending.early.items()),
            group.pending.early_bytes,
            group.pending.expired_documents,
            group.pending.unmatched_labels,
            group.pending.superseded,
        )
        for group in (engine.topic_group, engine.rank_group)
        if group.lanes
    ]


def feed(engine: Engine, events: Sequence[Event], block: int) -> list[bytes]:
    rankings: list[bytes] = []
    for start in range(0, len(events), block):
        for ranked in engine.process(make_block(events[start : start + block], TOKENIZER)):
            names = [lane.name for lane in engine.lanes]
            rankings += ranking_events(ranked, names, engine.topics.names, 0)
            for group in engine.lane_groups:
                check_charges(group.pending)
    return rankings


def check_charges(pending: PendingLabels) -> None:
    """The sums are those of what waits, and within the limit."""
    documents = pending.documents.items()
    assert pending.document_bytes == sum(document.charge for _, document in documents)
    for key, document in documents:
        assert document.charge == charge_document(key, len(document.terms), document.known)
    assert pending.early_bytes == sum(charge_label(*early) for early in pending.early.items())
    assert max(pending.document_bytes, pending.early_bytes) <= pending.max_bytes


@pytest.mark.parametrize("seed", range(12))
def test_blocks_lanes_shards_and_restarts_agree_on_what_waits(seed: int) -> None:
    rng = random.Random(seed)
    max_bytes = rng.choice((0, 1100, 2500, 6000, 20_000))
    events = random_events(seed, 250)
    straight = new_engine(max_bytes)
    expected = feed(straight, events, 1000)
    assert max_bytes > 6000 or any(
        group.pending.expired_documents for group in straight.lane_groups
    )
    engine, rankings, at = new_engine(max_bytes), list[bytes](), 0
    others = [new_engine(max_bytes, lanes) for lanes in LANE_SETS]
    while at < len(events):
        step = rng.randrange(1, 90)
        rankings += feed(engine, events[at : at + step], rng.randrange(1, 60))
        for other in others:
            feed(other, events[at : at + step], rng.randrange(1, 60))
            by_kind = waiting(engine) if len(waiting(other)) > 1 else waiting(engine)[:1]
            assert waiting(other) == by_kind
        at += step
        snapshot = take_snapshot(engine, at)
        engine.close()
        engine = new_engine(max_bytes)
        restore_engine(engine, snapshot)
    assert rankings == expected
    assert waiting(engine) == waiting(straight)
    last, first = take_snapshot(engine, 0), take_snapshot(straight, 0)
    assert last.content == first.content
    for name, array in last.arrays.items():
        assert np.array_equal(array, first.arrays[name], equal_nan=array.dtype.kind == "f"), name
    for done in (engine, straight, *others):
        done.close()


def test_the_oldest_documents_expire_when_the_bytes_are_used_up() -> None:
    one = charge_document("0", 2, 0)
    events = [unlabelled(n, {"x": 1.0, "y": 1.0}) for n in range(5)]
    large = unlabelled("large", {f"x{n}": 1.0 for n in range(30)})
    engine, _ = run(events, settings=settings(3 * one + one // 2))
    assert list(engine.pending.documents) == ["2", "3", "4"]
    assert (engine.pending.expired_documents, engine.pending.document_bytes) == (2, 3 * one)
    engine, _ = run([*events, large], settings=settings(3 * one + one // 2))
    assert list(engine.pending.documents) == ["3", "4", "large"]
    engine, _ = run([*events, large], settings=settings(one))  # which is not enough for it
    assert list(engine.pending.documents) == []
    assert (engine.pending.expired_documents, engine.pending.document_bytes) == (6, 0)


def test_labels_that_wait_are_charged_their_id_and_names() -> None:
    one = charge_label("0", ("a",))
    events = [label(n, "a") for n in range(5)]
    engine, _ = run(events, settings=settings(3 * one))
    assert list(engine.pending.early) == ["2", "3", "4"]
    assert engine.pending.unmatched_labels == 2
    engine, _ = run([*events, label(5, "a" * 250)], settings=settings(3 * one))
    assert list(engine.pending.early) == []  # 250 characters may take a thousand bytes
    assert (engine.pending.unmatched_labels, engine.pending.early_bytes) == (6, 0)
    engine, _ = run([*events, label(4, "b")], settings=settings(3 * one))
    assert engine.pending.early == {"2": ("a",), "3": ("a",), "4": ("b",)}


def test_long_ids_are_charged() -> None:
    assert charge_document("x" * 1024, 0, 0) == DOCUMENT_BYTES + 1024 * CHARACTER_BYTES


def test_a_snapshot_without_the_limit_is_read_and_cut_to_it() -> None:
    """Versions before this limit wrote such snapshots."""
    events = [unlabelled(f"d{n}", {"x": 1.0}) for n in range(20)]
    events += [label(f"e{n}", "a") for n in range(20)]
    engine = new_engine(1 << 20)
    feed(engine, events, 100)
    snapshot = take_snapshot(engine, 1)
    with pytest.raises(MismatchError, match="max_pending_bytes = 1048576"):
        restore_engine(new_engine(4000), snapshot)
    del snapshot.content["settings"]["max_pending_bytes"]
    same, less = new_engine(1 << 20), new_engine(4000)
    restore_engine(same, snapshot)
    assert waiting(same) == waiting(engine)
    restore_engine(less, snapshot)
    assert list(less.pending.documents) == ["d17", "d18", "d19"]
    assert less.pending.expired_documents == 17
    check_charges(less.pending)
    with pytest.raises(ValueError, match="max_pending_bytes allows"):
        same.merge(less, [lane.name for lane in same.lanes])


def test_a_replaced_document_is_charged_once() -> None:
    pending = PendingLabels()
    for terms in (3, 5, 4):
        pending.add_document("7", PendingDocument(0), terms, 2)
    assert pending.document_bytes == charge_document("7", 4, 2)
    assert pending.match_label("7", ("a",)) is not None
    assert pending.document_bytes == 0
