"""Lanes on a real broker: added later, not published, alone in a worker, moved between workers."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path

import orjson
import pytest
from kafka import TopicPartition

from consumers.kafka.client_types import Message
from consumers.kafka.offsets import committed_offset
from consumers.kafka_names import lane_consumer_group
from pipeline.corpora import open_source
from pipeline.snapshots.folder import SnapshotFolder
from tests.support.kafka_stream import Streaming

FIRST, SECOND, THIRD = "mmp:loss=1", "perceptron:average=true,norm=l2", "mmp:loss=2,name=third"


def by_lane(messages: list[Message]) -> dict[str, list[bytes]]:
    """The rankings of each lane, in the order they were published."""
    collected: dict[str, list[bytes]] = defaultdict(list)
    for message in messages:
        value = message.value or b""
        collected[orjson.loads(value)["lane"]].append(value)
    return collected


def expected_of(streaming: Streaming) -> dict[str, list[bytes]]:
    """The rankings of the whole log by an engine with the present lanes, without faults."""
    collected: dict[str, list[bytes]] = defaultdict(list)
    for value in streaming.undisturbed()[1]:
        collected[orjson.loads(value)["lane"]].append(value)
    return collected


def end_all(streaming: Streaming) -> None:
    for name in list(streaming.processes):
        assert streaming.end(name) == 0, streaming.log(name)[-3000:]


def test_a_lane_that_is_added_later_catches_up_and_joins(broker: str, tmp_path: Path) -> None:
    """While the new lane follows the log from the beginning, the others rank new documents."""
    events = list(open_source("synthetic:900,topics=12"))
    with Streaming(broker, tmp_path, [FIRST]) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events[:600])
        streaming.rankings(600)
        assert streaming.end("learn") == 0
        streaming.configure([FIRST, SECOND, THIRD])
        streaming.start("learn")
        streaming.produce(events[600:])
        published = by_lane(streaming.rankings(2700))
        end_all(streaming)
        log = streaming.log("learn")
        expected = expected_of(streaming)
    assert set(published) == {FIRST, SECOND, "third"}
    assert published == expected
    assert f"{SECOND}, third: resuming at offset 0 of the log" in log
    assert "caught up with the others at offset" in log


def test_a_new_lane_survives_kills_on_its_way(broker: str, tmp_path: Path) -> None:
    """kill -9 while the new lane catches up, when it joins the others, and later: no duplicates."""
    events = list(open_source("synthetic:800,topics=12"))
    with Streaming(broker, tmp_path, [FIRST], every=0.3) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events[:500])
        streaming.rankings(500)
        streaming.kill("learn")
        streaming.configure([SECOND, FIRST])
        for number in range(5):
            streaming.start("learn")
            streaming.produce(events[500 + 60 * number : 560 + 60 * number])
            time.sleep(2.0 + 0.25 * number)  # it takes about two seconds to start
            streaming.kill("learn")
        streaming.start("learn")
        streaming.wait_learned()
        published = by_lane(streaming.rankings(1600))
        end_all(streaming)
        expected = expected_of(streaming)
    assert {lane: len(set(values)) for lane, values in published.items()} == {
        FIRST: 800,
        SECOND: 800,
    }
    assert published == expected


def test_a_watched_lane_writes_nothing_until_it_is_published(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:200,topics=12"))
    with Streaming(broker, tmp_path, [FIRST], watched=[SECOND]) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events)
        assert set(by_lane(streaming.rankings(200))) == {FIRST}
        assert streaming.end("learn") == 0
        folder = streaming.config.snapshots.folder / streaming.name
        snapshot = SnapshotFolder(folder).newest([])
        assert snapshot is not None
        assert snapshot.lanes == [FIRST, SECOND]  # it was followed all the same
        streaming.configure([FIRST, SECOND])
        streaming.start("learn")
        published = by_lane(streaming.rankings(400))
        end_all(streaming)
        assert published == expected_of(streaming)


def test_lanes_move_between_workers(broker: str, tmp_path: Path) -> None:
    """All lanes in one worker, then each in its own, then together: nothing is doubled or lost."""
    events = list(open_source("synthetic:450,topics=12"))
    with Streaming(broker, tmp_path, [FIRST, SECOND]) as streaming:
        streaming.start("tokenize-0")
        together = [["learn"], [f"learn@{FIRST}", f"learn@{SECOND}"], ["learn"]]
        for number, workers in enumerate(together):
            for worker in workers:
                streaming.start(worker)
            streaming.produce(events[150 * number : 150 * (number + 1)])
            streaming.rankings(300 * (number + 1))
            for worker in workers:
                assert streaming.end(worker) == 0, streaming.log(worker)
        published = by_lane(streaming.rankings(900))
        end_all(streaming)
        assert published == expected_of(streaming)


@pytest.mark.parametrize("shift", [-1, None])
def test_an_offset_that_was_forgotten_loses_nothing(
    shift: int | None, broker: str, tmp_path: Path
) -> None:
    """Brokers delete the offsets of groups that are idle for days; the snapshot has them.

    An offset that is there is believed, even if a snapshot is ahead of it: the broker may have lost
    the rankings with the commits. So these rankings come again, and they are the same.
    """
    from kafka.admin import KafkaAdminClient

    from consumers.kafka.clients import connection_options
    from consumers.kafka.offsets import offsets_to_commit

    events = list(open_source("synthetic:200,topics=12"))
    with Streaming(broker, tmp_path, [FIRST]) as streaming:
        streaming.start("tokenize-0")
        streaming.start("learn")
        streaming.produce(events[:120])
        streaming.rankings(120)
        assert streaming.end("learn") == 0
        group, log = (
            lane_consumer_group(streaming.name, FIRST),
            TopicPartition(streaming.stream.blocks, 0),
        )
        reached = committed_offset(streaming.config.kafka, group, log).offset
        assert reached is not None
        admin = KafkaAdminClient(**connection_options(streaming.config.kafka))
        if shift is None:
            admin.delete_groups([group])
        else:
            admin.alter_group_offsets(group, offsets_to_commit({log: reached + shift}))
        admin.close()
        streaming.start("learn")
        streaming.produce(events[120:])
        messages = streaming.rankings(200 if shift is None else 201)
        end_all(streaming)
        assert "but a snapshot shows that" in streaming.log("learn")
        expected = expected_of(streaming)
        if shift is None:
            assert by_lane(messages) == expected
        else:
            values = [message.value or b"" for message in messages]
            assert 200 < len(values) < 300
            assert {*values} == {value for values in expected.values() for value in values}
