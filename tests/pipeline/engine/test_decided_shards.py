"""Shards of a lane decide like the whole lane: late labels, any number of shards, other blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from learners.sharding.exchange import ThreadExchange
from learners.sharding.meeting_place import ThreadPlace
from learners.specs import parse_spec
from pipeline.engine.engine import Engine, EngineSettings
from pipeline.engine.ranking_events import ranking_events
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.models.divided_snapshots import divided_snapshot, joined_shards
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import Snapshot, take_snapshot
from pipeline.storage.named_arrays import arrays_under
from tests.pipeline.engine.test_engine import TOKENIZER, random_events

TOP = 3
SETTINGS = EngineSettings(max_topics=12, max_pending=30)
SPECS = (
    "perceptron:assign=macro,risk=0.4",
    "mmp:loss=1,assign=precision:0.5,order=probability",
    "soft-arow:assign=micro,risk=0.3,order=probability",
)


def follow(engine: Engine, events: Sequence[Event], block: int) -> list[bytes]:
    (lane,) = engine.lanes
    made = list[bytes]()
    for start in range(0, len(events), block):
        for ranked in engine.process(make_block(events[start : start + block], TOKENIZER)):
            made += ranking_events(ranked, [lane.name], engine.topics.names, TOP)
    return made


def with_shards(
    spec: str,
    shards: int,
    work: Callable[[Engine, int], tuple[list[bytes], Snapshot]],
    place: ThreadPlace | None = None,
) -> list[tuple[list[bytes], Snapshot]]:
    """Let all shards of a lane do the same work, each in a thread of its own."""
    exchange = ThreadExchange(shards, place)
    found: dict[int, tuple[list[bytes], Snapshot]] = {}

    def run(number: int) -> None:
        member = exchange.member(number)
        engine = Engine([parse_spec(spec)], (), SETTINGS, 1, lambda one: one.new_shard(member, TOP))
        found[number] = work(engine, number)

    with ThreadPoolExecutor(shards) as pool:
        for task in [pool.submit(exchange.run, run, number) for number in range(shards)]:
            task.result()
    return [found[number] for number in range(shards)]


def published(snapshot: Snapshot) -> Snapshot:
    snapshot.content["published"] = snapshot.lanes
    return snapshot


def assert_equal_decisions(one: Snapshot, other: Snapshot) -> None:
    for part in ("decider", "decisions", "curve"):
        left, right = (arrays_under(s.arrays, f"lane0/{part}") for s in (one, other))
        assert left.keys() == right.keys()
        assert all(left[name].tobytes() == right[name].tobytes() for name in left), part


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("shards", [1, 2, 3, 5])
def test_shards_decide_like_the_whole_lane(spec: str, shards: int) -> None:
    events = random_events(shards, 160)
    whole = Engine([parse_spec(spec)], (), SETTINGS, 1)
    expected, state = follow(whole, events, 1000), take_snapshot(whole, 0)
    assert any(b'"assigned":["' in event for event in expected)

    def work(engine: Engine, number: int) -> tuple[list[bytes], Snapshot]:
        return follow(engine, events, 17), take_snapshot(engine, 0)

    for made, snapshot in with_shards(spec, shards, work):
        assert made == expected
        assert_equal_decisions(snapshot, state)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (2, 1)])
def test_another_number_of_shards_goes_on(spec: str, before: int, after: int) -> None:
    events = random_events(7, 160)
    first, second = events[:90], events[90:]
    whole = Engine([parse_spec(spec)], (), SETTINGS, 1)
    follow(whole, first, 1000)
    assert whole.pending.documents  # their decisions go along
    expected, end = follow(whole, second, 1000), take_snapshot(whole, 0)
    (lane,) = whole.lanes
    taken = [
        published(snapshot)
        for _, snapshot in with_shards(
            spec, before, lambda engine, _: (follow(engine, first, 13), take_snapshot(engine, 0))
        )
    ]
    joined = joined_shards(taken, lane.name)

    def go_on(engine: Engine, number: int) -> tuple[list[bytes], Snapshot]:
        own = divided_snapshot(joined, lane.name, number, after) if after > 1 else joined
        restore_engine(engine, own)
        return follow(engine, second, 11), take_snapshot(engine, 0)

    if after == 1:
        again = Engine([parse_spec(spec)], (), SETTINGS, 1)
        results = [go_on(again, 0)]
    else:
        results = with_shards(spec, after, go_on)
    for made, snapshot in results:
        assert made == expected
        assert_equal_decisions(snapshot, end)
