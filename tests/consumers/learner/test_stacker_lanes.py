"""Lanes that combine others, on a real broker: crashes, late lanes, own workers and shards."""

from __future__ import annotations

import random
import time
from pathlib import Path

import orjson
import pytest
from kafka import TopicPartition

from consumers.config import read_config
from consumers.kafka.log_reader import describe_log
from consumers.kafka.offsets import committed_offset
from consumers.kafka_names import lane_consumer_group
from consumers.settings import ConfigError
from tests.consumers.learner.test_lanes import by_lane, end_all, expected_of
from tests.consumers.learner.test_live_page import page_update
from tests.consumers.learner.test_ordinal_lanes import documents_in, replayed, scattered
from tests.support.kafka_stream import SMALL, Streaming, assert_exact, eventually
from tests.support.killed_learners import (
    bring_up,
    learn_over_kills,
    newer_snapshot,
    places_of,
    snapshots_of,
)
from tests.support.ports import free_port

FIRST, SECOND = "mmp:loss=1", "perceptron:average=true,norm=l2"
SPARSE, RANKS = "feature-focus:margin=0.1", "prank:ranks=5"
ALL = "svm-map:refit=20,window=50"
TWO = f"svm-map:of=[{SPARSE},{SECOND}],refit=7,window=30,depth=3"
STACKED = f"svm-map:of=[{FIRST},{SECOND}],refit=20,window=50,name=stacked"
SLOW = f"svm-map:of=[{FIRST},{SECOND}],refit=1,window=60,name=slow"  # trains in every round


@pytest.mark.parametrize("seed", [1, 2])
def test_stackers_over_kills_equal_the_embedded_replay(
    seed: int, broker: str, tmp_path: Path
) -> None:
    """One partition, so that the log has the order of the file; the learner is killed at work."""
    events, rng = scattered(seed, 900), random.Random(seed)
    lanes = [TWO, FIRST, RANKS, SPARSE, SECOND, ALL]
    rankings, _ = replayed(tmp_path, events, lanes)
    settings = f"{SMALL.replace('block = 40', 'block = 15')}\nmax_pending = 50"
    with Streaming(broker, tmp_path, lanes, settings=settings, every=0.2) as streaming:
        streaming.start("tokenize-0")
        learn_over_kills(streaming, FIRST, events, rng)
        streaming.wait_learned()
        published = streaming.rankings(len(rankings))
        end_all(streaming)
        assert_exact(streaming, published, events)
        assert sorted(message.value or b"" for message in published) == sorted(rankings)
        content = streaming.snapshot().content
        assert len(set(places_of(streaming, FIRST))) > 3  # or this proves little
    for counted in ("expired_documents", "unmatched_labels", "pending", "early"):
        assert content[counted], counted
    assert content["rounds"] > 400


def test_a_stacker_that_is_added_later_catches_up_over_kills_and_is_taken_away_again(
    broker: str, tmp_path: Path
) -> None:
    """It follows the log from the beginning, with copies of its lanes, and catches up."""
    events = scattered(3, 900)
    settings = f"{SMALL.replace('block = 40', 'block = 2')}\nmax_pending = 50"
    with Streaming(broker, tmp_path, [FIRST, SECOND], settings=settings, every=0.05) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events[:700])
        streaming.wait_learned()
        streaming.kill("learn")
        streaming.configure([FIRST, SECOND, SLOW])
        size = -(-(len(events) - 700) // 4)
        for number in range(3):
            start = 700 + size * number
            before = max(snapshots_of(streaming, "slow"), default=0)
            streaming.start("learn")
            streaming.produce(events[start : start + size])
            assert newer_snapshot(streaming, "slow", before), streaming.log("learn")
            streaming.kill("learn")
        streaming.start("learn")
        streaming.produce(events[700 + 3 * size :])
        streaming.wait_learned()
        published = streaming.rankings(3 * documents_in(events))
        assert streaming.end("learn") == 0, streaming.log("learn")
        assert by_lane(published) == expected_of(streaming)  # in order, too
        assert_exact(streaming, published, events)  # as if it had been there from the beginning
        places, others = places_of(streaming, "slow"), places_of(streaming, SECOND)
        assert places[0] == 0
        assert 0 < places[1] < others[-3]  # it was killed on its way
        assert "caught up with the others at offset" in streaming.log("learn")
        streaming.configure([FIRST, SECOND])
        streaming.start("learn")
        more = [event.replace(b'"id":"', b'"id":"more-') for event in scattered(4, 100)]
        streaming.produce(more)
        streaming.wait_learned()
        published += streaming.rankings(len(published) + 2 * documents_in(more))[len(published) :]
        end_all(streaming)
        of_bases = [m for m in published if orjson.loads(m.value or b"")["lane"] != "slow"]
        assert_exact(streaming, of_bases, [*events, *more])


def test_the_others_do_not_wait_for_a_stacker_that_catches_up(broker: str, tmp_path: Path) -> None:
    """It trains in every round, and must follow the whole log."""
    events = scattered(8, 1000)
    with Streaming(broker, tmp_path, [FIRST, SECOND]) as streaming:
        for worker in ("tokenize-0", "learn"):
            streaming.start(worker)
        streaming.produce(events[:1000])
        streaming.wait_learned()
        assert streaming.end("learn") == 0
        streaming.produce(events[1000:])
        streaming.wait_logged()
        streaming.configure([FIRST, SECOND, SLOW])
        log = TopicPartition(streaming.stream.blocks, 0)
        end = describe_log(streaming.config.kafka, streaming.stream.blocks).end
        front, behind = (lane_consumer_group(streaming.name, lane) for lane in (FIRST, "slow"))
        places: set[tuple[int | None, int | None]] = set()

        def is_done() -> bool:
            kafka = streaming.config.kafka
            ahead, place = (committed_offset(kafka, g, log).offset for g in (front, behind))
            places.add((ahead, place))
            return place == end

        streaming.start("learn")
        assert eventually(is_done, 120), streaming.log("learn")
        on_its_way = {
            place for ahead, place in places if ahead == end and place not in (None, 0, end)
        }
        # Between these steps the others had their turn. A fast machine doubles them from 2 on.
        assert len(on_its_way) > 1, places
        published = streaming.rankings(3 * documents_in(events))
        end_all(streaming)
        assert by_lane(published) == expected_of(streaming)


def test_a_stacker_in_a_worker_of_its_own(broker: str, tmp_path: Path) -> None:
    """It has copies of its lanes, which publish nothing; then all lanes run together."""
    events = scattered(5, 800)
    lanes = [STACKED, FIRST, SECOND]
    apart = ["learn@stacked", f"learn@{FIRST}", f"learn@{SECOND}"]
    with Streaming(broker, tmp_path, lanes, every=0.3) as streaming:
        streaming.start("tokenize-0")
        size = -(-len(events) // 5)
        for number, workers in enumerate([apart, ["learn"], apart, ["learn"]]):
            for worker in workers:
                streaming.start(worker)
            streaming.produce(events[size * number : size * (number + 1)])
            streaming.wait_learned()
            for worker in workers:
                assert streaming.end(worker) == 0, streaming.log(worker)
        port = free_port()
        for worker in apart:
            streaming.start(worker)
        streaming.produce(events[4 * size :])
        streaming.wait_learned()
        streaming.kill("learn@stacked")
        streaming.start("learn@stacked", "--page", "--page-port", str(port))
        assert eventually(lambda: "stacked" in streaming.shown_lanes("learn@stacked"), 60)
        assert streaming.shown_lanes("learn@stacked") == {"stacked"}
        page = f"http://127.0.0.1:{port}/"
        assert eventually(lambda: page_update(page)["status"]["documents"] == documents_in(events))
        assert [lane["name"] for lane in page_update(page)["lanes"]] == ["stacked"]
        published = streaming.rankings(3 * documents_in(events))
        for worker in apart:
            assert streaming.end(worker) == 0, streaming.log(worker)
        streaming.start("learn")
        streaming.wait_learned()
        assert len(places_of(streaming, "stacked")) == 3
        end_all(streaming)
        assert by_lane(published) == expected_of(streaming)  # in order, too
        assert_exact(streaming, published, events)
        assert "live page failed" not in streaming.log("learn@stacked")


def test_the_copies_of_a_stacker_push_out_no_snapshots(broker: str, tmp_path: Path) -> None:
    """A lane whose worker was stopped finds its snapshot, however many its stacker has taken."""
    events = scattered(6, 500)
    with Streaming(broker, tmp_path, [FIRST, SECOND, STACKED], every=0.1) as streaming:
        workers = ["learn@stacked", f"learn@{SECOND}", f"learn@{FIRST}"]
        for worker in ("tokenize-0", *workers):
            streaming.start(worker)
        streaming.produce(events[:200])
        streaming.wait_learned()
        assert streaming.end(f"learn@{FIRST}") == 0
        rested = max(snapshots_of(streaming, FIRST))
        for number in range(6):
            before = max(snapshots_of(streaming, "stacked"), default=0)
            streaming.produce(events[200 + 50 * number : 250 + 50 * number])
            assert newer_snapshot(streaming, "stacked", before)
        streaming.produce(events[500:])
        streaming.start(f"learn@{FIRST}")
        streaming.wait_learned()
        published = streaming.rankings(3 * documents_in(events))
        end_all(streaming)
        assert places_of(streaming, FIRST, f"learn@{FIRST}")[-1] == rested
        assert by_lane(published) == expected_of(streaming)


def test_a_stacker_of_a_lane_that_is_divided(broker: str, tmp_path: Path) -> None:
    """Its copy is a whole lane; the shards, which are killed, never resume from that copy."""
    events, rng = scattered(7, 1200), random.Random(7)
    lanes = [FIRST, SECOND, STACKED]
    names = ["learn", f"learn@{FIRST}#0", f"learn@{FIRST}#1"]
    with Streaming(broker, tmp_path, lanes, shards={FIRST: 2}, every=0.4) as streaming:
        for name in ("tokenize-0", *names):
            streaming.start(name)
        size = -(-len(events) // 8)
        for start in range(0, len(events), size):
            streaming.produce(events[start : start + size])
            time.sleep(rng.uniform(0.0, 1.0))
            killed = rng.sample(names, rng.choice((1, 1, 2, 3)))
            for name in killed:
                streaming.kill(name)
            for name in killed:
                bring_up(streaming, name)
        streaming.wait_learned()
        published = by_lane(streaming.rankings(3 * documents_in(events)))
        end_all(streaming)
        expected = expected_of(streaming)
        assert published["stacked"] == expected["stacked"]
        assert published[SECOND] == expected[SECOND]
        assert published[FIRST] == expected[FIRST]


def test_a_lane_is_divided_and_made_whole_under_its_stacker(broker: str, tmp_path: Path) -> None:
    """The stacker copies a lane that leaves its worker, and uses the lane when it is back."""
    events, lanes = scattered(9, 800), [FIRST, SECOND, STACKED]
    shards = [f"learn@{FIRST}#0", f"learn@{FIRST}#1"]
    with Streaming(broker, tmp_path, lanes, every=0.4) as streaming:
        streaming.start("tokenize-0")
        size = -(-len(events) // 6)
        for number, workers in enumerate([[], shards, []]):
            streaming.configure(lanes, shards={FIRST: 2 if workers else 1})
            for worker in ("learn", *workers):
                streaming.start(worker)
            for half in (2 * number, 2 * number + 1):  # time passes in the log
                streaming.produce(events[size * half : size * (half + 1)])
                streaming.wait_learned()
            for worker in ("learn", *workers):
                assert streaming.end(worker) == 0, streaming.log(worker)[-3000:]
        published = by_lane(streaming.rankings(3 * documents_in(events)))
        end_all(streaming)
        expected = expected_of(streaming)
        assert published["stacked"] == expected["stacked"]
        assert published[SECOND] == expected[SECOND]
        assert published[FIRST] == expected[FIRST]
        assert "from the snapshot of the whole lane" in streaming.log(shards[0])
        assert "from the snapshot of 2 shards" in streaming.log("learn")


@pytest.mark.parametrize(
    ("lanes", "message"),
    [
        ([FIRST, "svm-map:of=[mmp:loss=2]"], "can be combined: mmp:loss=1. Got '[mmp:loss=2]'"),
        ([FIRST, RANKS, f"svm-map:of=[{RANKS}]"], "can be combined: mmp:loss=1. Got '[prank"),
        ([FIRST, ALL, f"svm-map:of=[{FIRST},{ALL}]"], "can be combined: mmp:loss=1. Got "),
        ([FIRST, f"svm-map:of=[{FIRST},{FIRST}]"], "must list different topic lanes"),
        ([FIRST, "svm-map:of=[]"], "must list different topic lanes"),
        ([FIRST, "svm-map:of="], "must be a word. Got ''"),
        ([FIRST, f"svm-map:of={FIRST}"], "as [lane,...]"),
        ([ALL], "combines other topic lanes, but there are none. Add some"),
        ([RANKS, ALL], "combines other topic lanes, but there are none. Add some"),
    ],
)
def test_what_cannot_be_combined_is_refused_at_the_start(
    lanes: list[str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "wirerank.toml"
    specs = ", ".join(f'{{spec = "{lane}"}}' for lane in lanes)
    path.write_text(f'[[streams]]\nname = "wire"\nlanes = [{specs}]\n')
    with pytest.raises(ConfigError) as refused:
        read_config(path, {})
    assert message in str(refused.value)


def test_a_stacker_cannot_be_divided(tmp_path: Path) -> None:
    path = tmp_path / "wirerank.toml"
    lanes = f'{{spec = "{FIRST}"}}, {{spec = "svm-map", shards = 2}}'
    path.write_text(f'[[streams]]\nname = "wire"\nlanes = [{lanes}]\n')
    with pytest.raises(ConfigError, match="svm-map cannot be divided into shards: it has"):
        read_config(path, {})
