"""Exchanges of scores while the broker goes away, or records are lost or damaged."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

from consumers.kafka.clients import (
    MAX_RECORD_BYTES,
    PART_BYTES,
)
from consumers.kafka.log_reader import LogError
from consumers.kafka.topics import TopicError, ensure_scores_topic
from consumers.sharding import score_exchange
from consumers.sharding.score_exchange import StoppedError
from consumers.sharding.score_records import ScoreRecords, split
from consumers.worker_loop import TEMPORARY
from deploy.kafka import Cluster
from pipeline.storage.container import DamagedError
from tests.support.exchanging_shards import SHARDS, Shards, expected, payload, run
from tests.support.kafka_fixture import need_kafka
from tests.support.kafka_stream import eventually


def damaged(shards: Shards, how: str) -> tuple[bytes, bytes]:
    """A record of shard 1 in exchange 0 that is not as it must be."""
    records = ScoreRecords(shards.topic, "test", "mmp", "e1", SHARDS)
    (part,) = split(0, 1, b"scores")
    key, value = records.encode(part)
    changed: dict[str, tuple[bytes, bytes]] = {
        "checksum": (key, value[:-1] + b"\xff"),
        "kind": (key, b"WRSN" + value[4:]),
        "version": (key, value[:4] + b"\x02\x00" + value[6:]),
        "empty": (key, b""),
        "no such part": records.encode(part._replace(part=1)),
        "too many parts": records.encode(part._replace(parts=100_000)),
        "too short": records.encode(part._replace(size=7)),
        "too long": records.encode(part._replace(size=5)),
        "too large": records.encode(
            part._replace(size=PART_BYTES + 1, content=bytes(PART_BYTES + 1))
        ),
        "no such shard": (key.replace(b"0,1,0]", b"0,3,0]"), value),
        "no numbers": (key.replace(b"0,1,0]", b"0,-1,x]"), value),
        "cut key": (key.replace(b"0,1,0]", b"0,1"), value),
    }
    return changed[how]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("checksum", "its checksum does not match"),
        ("kind", "begins with b'WRSN'"),
        ("version", "has version 2"),
        ("empty", "is cut off"),
        ("no such part", "part 1 of 1"),
        ("too many parts", "part 0 of 100000"),
        ("too short", "have 6 bytes together, expected 7"),
        ("too long", "6 of 5 bytes"),
        ("too large", "parts of 524,288 bytes are possible"),
        ("no such shard", "its key must end"),
        ("no numbers", "its key must end"),
        ("cut key", "its key must end"),
    ],
)
def test_a_damaged_record_is_named(shards: Shards, how: str, message: str) -> None:
    key, value = damaged(shards, how)
    offset = shards.write(key, value)
    with pytest.raises(DamagedError) as caught:
        shards.new(0).swap(0, b"")
    assert f"{shards.topic}, offset {offset} (" in str(caught.value)
    assert message in str(caught.value)


def cut(shards: Shards, offset: int) -> None:
    """Delete the records before an offset, as retention does."""
    with shards.admin() as admin:
        admin.delete_records({shards.where: offset})


def test_a_place_that_is_gone(shards: Shards) -> None:
    """Whether it was asked for, or the exchange that was there."""
    running = [shards.start(run, shards.new(shard), 0, 6) for shard in range(SHARDS)]
    for each in running:
        each.result(60)
    cut(shards, 7)
    with pytest.raises(LogError) as caught:
        shards.new(0, begin=3)
    assert "has no offset 3; it reaches from 7 to 18" in str(caught.value)
    assert "retention.ms" in str(caught.value)
    assert "Start this shard with a newer snapshot, or start all shards from scratch" in str(
        caught.value
    )
    with pytest.raises(LogError, match="has no offset 19"):
        shards.new(0, begin=19)
    with pytest.raises(LogError) as caught:
        shards.new(0).swap(0, payload(0, 0))
    assert "but lacks an earlier one: exchange 0 of shard 0/3, 1/3, 2/3" in str(caught.value)
    late = shards.new(0)
    assert run(late, 3, 6) == [expected(number) for number in range(3, 6)]


def test_a_topic_that_is_cut_or_deleted_meanwhile(
    shards: Shards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_exchange, "WATCH_SECONDS", 0.5)
    exchange = shards.new(0)
    for number in range(3):
        shards.give(1, number, b"")
    cut(shards, 3)
    with pytest.raises(LogError, match="has no offset 0 any more"):
        exchange.swap(0, b"")
    waiting = shards.start(shards.new(0).swap, 0, b"")
    assert eventually(lambda: shards.made[-1].waiting_for == (1, 2))
    with shards.admin() as admin:
        admin.delete_topics([shards.topic])
    with pytest.raises(LogError, match="was deleted"):
        waiting.result(30)
    with pytest.raises(LogError, match="does not exist"):
        shards.new(0)


def test_topics_that_cannot_be_used(shards: Shards) -> None:
    """Refused with the remedy when they are checked, or else when they are written to."""
    wrong = {
        "wide": NewTopic(f"{shards.topic}.wide", 2, 1),
        "compacted": NewTopic(
            f"{shards.topic}.compacted", 1, 1, topic_configs={"cleanup.policy": "compact"}
        ),
        "narrow": NewTopic(
            f"{shards.topic}.narrow", 1, 1, topic_configs={"max.message.bytes": "100000"}
        ),
    }
    with shards.admin() as admin:
        admin.create_topics(list(wrong.values()))
        admin.wait_for_topics([topic.name for topic in wrong.values()])
    remedies = {
        "wide": "has 2 partitions, but must have 1",
        "compacted": "set it to delete, with retention.ms 604800000",
        "narrow": "accepts records of at most 100000 bytes",
    }
    for name, remedy in remedies.items():
        with pytest.raises(TopicError, match=remedy):
            ensure_scores_topic(shards.settings, f"{shards.topic}.{name}")
    shards.topic += ".narrow"
    with pytest.raises(TopicError, match=r"set its max\.message\.bytes"):
        shards.new(0).swap(0, random.Random(0).randbytes(PART_BYTES))


def test_the_topic_is_made_as_it_must_be(shards: Shards) -> None:
    assert ensure_scores_topic(shards.settings, shards.topic) == []  # the fixture has made it
    resource = ConfigResource(ConfigResourceType.TOPIC, shards.topic)
    with shards.admin() as admin:
        (actual,) = admin.describe_topics([shards.topic])
        options = admin.describe_configs([resource], config_filter="all")["topic"][shards.topic]
    assert len(actual["partitions"]) == 1
    assert options["cleanup.policy"]["value"] == "delete"
    assert options["retention.ms"]["value"] == str(7 * 24 * 3600 * 1000)
    assert options["max.message.bytes"]["value"] == str(MAX_RECORD_BYTES)


def test_a_broker_that_goes_away_and_comes_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exchange goes on where it was; meanwhile it says that it waits for the broker."""
    need_kafka()
    monkeypatch.setattr(score_exchange, "GIVE_UP_S", 120.0)  # a broker may take long to start
    with Cluster(tmp_path / "kafka") as cluster:
        shards = Shards(cluster.bootstrap)
        ensure_scores_topic(shards.settings, shards.topic)
        exchanges = [shards.new(shard) for shard in range(SHARDS)]
        first = [shards.start(run, exchange, 0, 5) for exchange in exchanges]
        for each in first:
            each.result(60)
        cluster.kill()
        second = [shards.start(run, exchange, 5, 10) for exchange in exchanges]
        message = rf"waiting for the broker at {cluster.bootstrap} for \d+ s \(exchange 5\)"
        assert eventually(lambda: any(re.search(message, text) for text in caplog.messages), 60)
        cluster.start()
        for each in second:
            assert each.result(120) == [expected(number) for number in range(5, 10)]
        cluster.kill()
        waiting = shards.start(exchanges[0].swap, 10, b"")
        assert eventually(lambda: exchanges[0].waiting_for != ())
        shards.stop.set()
        with pytest.raises(StoppedError):
            waiting.result(5)
        shards.close()


def test_a_broker_that_stays_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is an error that passes, for a client that has written before and for one that has not."""
    need_kafka()
    monkeypatch.setattr(score_exchange, "GIVE_UP_S", 2.0)
    with Cluster(tmp_path / "kafka") as cluster:
        shards = Shards(cluster.bootstrap)
        ensure_scores_topic(shards.settings, shards.topic)
        used, unused = shards.new(0, 1), shards.new(0, 1, epoch="e2")
        run(used, 0, 1)
        cluster.kill()
        for exchange, number in ((used, 1), (unused, 0)):
            with pytest.raises(TEMPORARY, match=r"nothing came from the broker .* for 2 s"):
                run(exchange, number, number + 1)
        kept = used.position(1)
        shards.close()
        cluster.start()
        shards.stop.clear()
        assert run(shards.new(0, 1, begin=kept), 1, 3) == [expected(1, 1), expected(2, 1)]
        shards.drop(shards.made[0])
