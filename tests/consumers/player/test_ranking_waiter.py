"""Waiting until every event that was played is ranked, with real workers and without."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition

from consumers.kafka.clients import new_consumer
from consumers.kafka.offsets import offsets_to_commit
from consumers.player import ranking_waiter
from consumers.player.player import play
from consumers.player.ranking_waiter import ArrivalCheck
from pipeline.corpora import open_source
from pipeline.replay.playback import PlaybackResult, PlaybackSettings
from tests.support.kafka_stream import Streaming
from tests.support.player_topic import Heard, PlayedTopic

LANES = ("mmp:loss=1", "perceptron")


def played_into(streaming: Streaming) -> PlayedTopic:
    topic = PlayedTopic(streaming.config.kafka.bootstrap)
    topic.name = streaming.documents
    return topic


def commit(streaming: Streaming, group: str, offset: int) -> None:
    """Commit an offset, as a lane that was removed would have."""
    consumer: Any = new_consumer(streaming.config.kafka, group_id=group)
    place = TopicPartition(streaming.stream.blocks, 0)
    consumer.assign([place])
    consumer.commit(offsets_to_commit({place: offset}))
    consumer.close(autocommit=False)


def published(streaming: Streaming) -> int:
    """The number of committed rankings at this moment."""
    consumer: Any = new_consumer(streaming.config.kafka)
    places = [
        TopicPartition(streaming.stream.rankings, p) for p in range(streaming.stream.partitions)
    ]
    ends = consumer.end_offsets(places)
    consumer.assign(places)
    for place in places:
        consumer.seek(place, 0)
    count = 0
    while any(consumer.position(place) < ends[place] for place in places):
        count += sum(map(len, consumer.poll(200).values()))
    consumer.close(autocommit=False)
    return count


def test_until_ranked(broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that start later, a dead letter, a removed lane: waiting ends in time."""
    monkeypatch.setattr(ranking_waiter, "GRACE_S", 1.0)
    path = tmp_path / "events.jsonl"
    events = [*open_source("synthetic:400,topics=12"), b"rubbish"]
    path.write_bytes(b"".join(event + b"\n" for event in events))
    with (
        Streaming(broker, tmp_path, LANES, partitions=3) as streaming,
        ThreadPoolExecutor() as pool,
    ):
        topic = played_into(streaming)
        commit(streaming, f"wirerank.{streaming.stream.name}.learn.gone", 0)
        settings = PlaybackSettings(str(path), broker, topic.name, until_ranked=True)
        heard = Heard()
        ended = pool.submit(play, settings, topic.kafka, heard)
        heard.wait_for(f"no workers follow {topic.name} yet")
        streaming.start("tokenize-0")
        streaming.start("learn")
        assert ended.result(120) == PlaybackResult(written=401, already_there=0)
        assert published(streaming) == 400 * len(LANES)
        heard.wait_for("every event is ranked")
        heard.wait_for("not waited for: gone, which is at offset 0 of")
        (letter,) = streaming.read(streaming.stream.dead_letters, 1, 1)
        assert letter.value == b"rubbish"
        result = topic.play(str(path), "--until-ranked")
        assert result.exit_code == 0
        assert "all events are in the topic already" in result.stderr
        assert "every event is ranked" in result.stderr


def test_waiting_can_be_ended(broker: str, tmp_path: Path) -> None:
    with Streaming(broker, tmp_path, LANES) as streaming:
        topic = played_into(streaming)
        with topic.start("synthetic:20", "--until-ranked") as process:
            topic.wait_for(20, process)
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 128 + signal.SIGTERM
    assert b"Traceback" not in errors


def test_who_is_waited_for() -> None:
    """Wait for the first group and for all that move; only briefly for those that never moved."""
    now = time.monotonic()
    ends = {"fast": 10, "slow": 10, "gone": 10}
    race = ArrivalCheck({"fast": 1, "slow": 1, "gone": 3})
    assert not race.all_arrived({"fast": 9, "slow": 1, "gone": 3}, ends, now)
    assert not race.all_arrived({"fast": 10, "slow": 1, "gone": 3}, ends, now + 1)
    assert not race.all_arrived(
        {"fast": 10, "slow": 5, "gone": 3}, ends, now + 1 + ranking_waiter.GRACE_S / 2
    )
    assert not race.all_arrived({"fast": 10, "slow": 9, "gone": 3}, ends, now + 100)
    assert race.all_arrived({"fast": 10, "slow": 11, "gone": 3}, ends, now + 101)


def test_nobody_is_left_behind_without_a_moment_of_grace() -> None:
    race = ArrivalCheck({"fast": 10, "late": 1})
    ends = {"fast": 10, "late": 10}
    assert not race.all_arrived({"fast": 10, "late": 1}, ends, 0.0)
    assert not race.all_arrived({"fast": 10, "late": 1}, ends, ranking_waiter.GRACE_S)
    assert race.all_arrived({"fast": 10, "late": 1}, ends, ranking_waiter.GRACE_S + 1)
    assert ArrivalCheck({}).all_arrived({"new": 10}, {"new": 10}, 0.0)
