"""Helpers: lanes that a stacker needs where nobody asked for them. They learn, unseen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
import orjson
import pytest

from learners.specs import helpers_of, parse_spec, resolved
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.page.feed import PageFeed
from pipeline.page.samples import FROZEN, ReadProgress
from pipeline.page.updates import update_since
from pipeline.snapshots.folder import SnapshotFolder, read_snapshot
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import MismatchError, take_snapshot
from tests.pipeline.engine.test_engine import TOKENIZER, random_events

FIRST, SECOND, THIRD = "mmp:loss=1", "perceptron", "frequency"
STACKED = f"svm-map:of=[{FIRST},{SECOND}],refit=10,window=20,name=stacked"
ORDER = (FIRST, SECOND, THIRD, "stacked")
EVERY = resolved([parse_spec(text) for text in (FIRST, SECOND, THIRD, STACKED)])


def engine_of(*names: str) -> Engine:
    """An engine with some lanes of the stream, and the helpers that these need."""
    lanes = [lane for lane in EVERY if lane.name in names]
    settings = EngineSettings(max_pending=20)
    return Engine(lanes, ("t9",), settings, helpers=helpers_of(lanes, EVERY))


def feed(engine: Engine, events: Sequence[Event], block: int = 30) -> None:
    for start in range(0, len(events), block):
        for _ in engine.process(make_block(events[start : start + block], TOKENIZER)):
            pass


def assert_same(engine: Engine, other: Engine) -> None:
    left, right = take_snapshot(engine, 1), take_snapshot(other, 1)
    assert left.content == right.content
    assert left.arrays.keys() == right.arrays.keys()
    for name, array in left.arrays.items():
        assert np.array_equal(array, right.arrays[name], equal_nan=array.dtype.kind == "f"), name


@pytest.mark.parametrize("order", list(permutations(["stacked", FIRST, SECOND])))
def test_lanes_that_meet_in_any_order_are_as_if_always_together(order: Sequence[str]) -> None:
    """The stacker has known the others all along: even the differences to them are not lost."""
    events = random_events(3, 300)
    straight = engine_of(FIRST, SECOND, "stacked")
    feed(straight, events)
    assert straight.pending.documents
    first, *others = (engine_of(name) for name in order)
    for engine in (first, *others):
        feed(engine, events[:180])
    for other in others:
        first.merge(other, ORDER)
        again = engine_of(*(lane.name for lane in first.lanes))
        restore_engine(again, take_snapshot(first, 180))  # a crash, so to speak
        assert_same(again, first)
        first = again
    feed(first, events[180:])
    assert [lane.name for lane in first.lanes] == [FIRST, SECOND, "stacked"]
    assert not first.helpers
    assert_same(first, straight)


def test_helpers_are_in_snapshots_but_their_lanes_are_not(tmp_path: Path) -> None:
    """So that they push out nothing of the workers that have these lanes."""
    folder = SnapshotFolder(tmp_path, keep=2)
    own = folder.write(take_snapshot(engine_of(FIRST), 5))
    for position in (5, 6, 7, 8):
        path = folder.write(take_snapshot(engine_of("stacked"), position))
    assert own in folder.files()
    assert len(folder.files()) == 3
    snapshot = read_snapshot(path)
    assert snapshot.lanes == ["stacked"]
    assert snapshot.all_lanes == ["stacked", FIRST, SECOND]
    both = folder.write(take_snapshot(engine_of("stacked", FIRST, SECOND), 8))
    assert both != path


def test_a_stacker_of_all_lanes_is_another_one_with_one_lane_more() -> None:
    lanes = [parse_spec(text) for text in (FIRST, "svm-map:name=all")]
    snapshot = take_snapshot(Engine(lanes), 1)
    with pytest.raises(MismatchError, match=r"lane all: of = \[mmp:loss=1\], .* says .*percep"):
        restore_engine(Engine([*lanes, parse_spec(SECOND)]), snapshot)


def test_the_page_of_a_stacker_alone_shows_it_alone() -> None:
    engine, page = engine_of("stacked"), PageFeed("a test")
    page.begin(engine, ReadProgress(0, None))
    block = make_block(random_events(5, 100), TOKENIZER)
    for ranked in engine.process(block, to_explain=3):
        page.take(ranked)
        assert len(ranked.scores) == len(ranked.measures) == 1
    page.advance(block, ReadProgress(100, None))
    page.idle()
    assert page.sample.state != FROZEN
    update = orjson.loads(orjson.dumps(update_since(page.sample, 0), default=tuple))
    assert [lane["name"] for lane in update["lanes"]] == ["stacked"]
    assert update["lanes"][0]["rounds"] == engine.rounds > 0
    assert {len(shown.explained.rankings) for shown in page.sample.last_documents} == {1}


def test_the_page_of_a_stacker_beside_the_others_compares_them() -> None:
    engine, page = engine_of("stacked", FIRST, SECOND), PageFeed("a test")
    page.begin(engine, ReadProgress(0, None))
    feed(engine, random_events(5, 100))
    page.advance(make_block([], TOKENIZER), ReadProgress(100, None))
    page.idle()
    update = orjson.loads(orjson.dumps(update_since(page.sample, 0), default=tuple))
    assert [lane["name"] for lane in update["lanes"]] == [FIRST, SECOND, "stacked"]
    assert [row["other"] for row in update["against"][2]] == [0, 1]
    assert {row["rounds"] for row in update["against"][2]} == {engine.rounds}
