"""The changes of lanes are the same for any blocks, after restarts, and with shards."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial

import numpy as np
import pytest

from learners.learner import Learner
from learners.sharding.exchange import ThreadExchange
from learners.specs import LaneSpec, parse_spec, resolved
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.curves.lane_changes import Change
from pipeline.engine.engine import Engine
from pipeline.events.event import Event, parse_event
from pipeline.log.block import make_block
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import take_snapshot
from pipeline.text.tokenizer import Tokenizer

LANES = ("mmp:loss=1", "arow", "prank:ranks=3")
DOCUMENTS, BROKEN = 2400, 1600
TOKENIZER = Tokenizer()


@cache
def broken_stream(late: int = 0) -> tuple[Event, ...]:
    """Topics get other names, and ranks are turned around, from document `BROKEN` on.

    With `late`, every third label comes this many documents after its document.
    """
    source = SyntheticNewswire(documents=DOCUMENTS, topics=6, seed=3, words=40)
    documents = [parse_event(raw) for raw in source]
    names = sorted({topic for event in documents for topic in event.topics or ()})
    renamed = dict(zip(names, [*names[1:], names[0]], strict=True))
    events, labels = list[Event](), dict[int, Event]()
    for number, document in enumerate(documents):
        topics = document.topics or ()
        rank = 3 if names[0] in topics else 1
        if number >= BROKEN:
            topics, rank = tuple(renamed[topic] for topic in topics), 4 - rank
        labelled = document._replace(topics=topics, rank=rank)
        if late and number % 3 == 0:
            labels[number + late] = labelled._replace(content=None)
            labelled = document._replace(topics=None, rank=None)
        events.append(labelled)
        if number in labels:
            events.append(labels.pop(number))
    return tuple(events)


def new_engine() -> Engine:
    return Engine(resolved([parse_spec(lane) for lane in LANES]))


def feed(engine: Engine, events: tuple[Event, ...], block: int) -> None:
    for start in range(0, len(events), block):
        for _ in engine.process(make_block(events[start : start + block], TOKENIZER)):
            pass


def changes_of(engine: Engine) -> dict[str, list[Change]]:
    return {lane.name: lane.curve.changes.kept for lane in engine.lanes}


@cache
def expected_changes(late: int = 0) -> dict[str, list[Change]]:
    engine = new_engine()
    feed(engine, broken_stream(late), 200)
    return changes_of(engine)


def test_the_break_is_found() -> None:
    for changes in expected_changes().values():
        (change,) = changes
        assert BROKEN < change.round < BROKEN + 200
        assert abs(change.began - BROKEN) < 30
        assert change.after > change.before + 0.1
        assert change.document == str(broken_stream()[change.round - 1].id)
    assert expected_changes()["mmp:loss=1"][0].topics
    assert not expected_changes()["prank:ranks=3"][0].topics


@pytest.mark.parametrize("late", [0, 17])
@pytest.mark.parametrize("block", [1, 7, 450])
def test_blocks_do_not_matter(block: int, late: int) -> None:
    engine = new_engine()
    feed(engine, broken_stream(late), block)
    assert changes_of(engine) == expected_changes(late)
    assert all(expected_changes(late).values())


@pytest.mark.parametrize("late", [0, 17])
def test_restarts_do_not_matter(late: int) -> None:
    chance, events, at = random.Random(late), broken_stream(late), 0
    engine = new_engine()
    straight = new_engine()
    feed(straight, events, 200)
    while at < len(events):
        step = chance.randrange(1, 500)
        feed(engine, events[at : at + step], 60)
        at += step
        snapshot = take_snapshot(engine, at)
        engine = new_engine()
        restore_engine(engine, snapshot)
    assert changes_of(engine) == expected_changes(late)
    last, other = take_snapshot(engine, 1), take_snapshot(straight, 1)
    for name, array in other.arrays.items():
        assert np.array_equal(array, last.arrays[name], equal_nan=array.dtype.kind == "f"), name


def test_an_older_snapshot_has_no_changes_and_goes_on() -> None:
    engine = new_engine()
    feed(engine, broken_stream()[:400], 100)
    snapshot = take_snapshot(engine, 1)
    for name in [name for name in snapshot.arrays if "/changes/" in name]:
        del snapshot.arrays[name]
    engine = new_engine()
    restore_engine(engine, snapshot)
    feed(engine, broken_stream()[400:], 100)
    for changes in changes_of(engine).values():
        (change,) = changes
        assert BROKEN < change.round < BROKEN + 200


def build_shard(exchange: ThreadExchange, number: int, spec: LaneSpec) -> Learner:
    return spec.new_shard(exchange.member(number), 3)


@pytest.mark.parametrize("shards", [2, 3])
def test_shards_do_not_matter(shards: int) -> None:
    events = broken_stream(17)
    for lane in LANES[:2]:
        exchange = ThreadExchange(shards)

        def work(
            number: int, lane: str = lane, exchange: ThreadExchange = exchange
        ) -> dict[str, list[Change]]:
            build = partial(build_shard, exchange, number)
            engine = Engine([parse_spec(lane)], build=build, threads=1)
            feed(engine, events, 100)
            return changes_of(engine)

        with ThreadPoolExecutor(shards) as pool:
            for found in pool.map(work, range(shards)):
                assert found == {lane: expected_changes(17)[lane]}
