"""Shards that give each other their scores through a real broker."""

from __future__ import annotations

import random
import re
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic

from consumers.kafka.clients import (
    MAX_RECORD_BYTES,
    PART_BYTES,
    connection_options,
    new_consumer,
    new_producer,
)
from consumers.kafka.log_reader import LogError
from consumers.kafka.topics import TopicError, ensure_scores_topic
from consumers.settings import KafkaSettings
from consumers.sharding import score_exchange
from consumers.sharding.score_exchange import KafkaExchange, StoppedError
from consumers.sharding.score_records import MAX_PAYLOAD_BYTES, ScoreRecords, split
from consumers.worker_loop import TEMPORARY
from deploy.kafka import Cluster
from learners.sharding.exchange import DisagreementError, Exchange
from pipeline.storage.container import DamagedError
from tests.support.kafka_fixture import need_kafka
from tests.support.kafka_stream import eventually

SHARDS = 3


def payload(shard: int, number: int) -> bytes:
    """What a shard computes, always the same: nothing at times, at times several megabytes."""
    source = random.Random(1000 * shard + number)
    size = source.choice([0, 1, 10, 1000, 100_000])
    if number % 25 == 7:
        size = 3_000_000 + shard
    return source.randbytes(size)


def expected(number: int, shards: int = SHARDS) -> list[bytes]:
    return [payload(shard, number) for shard in range(shards)]


class Shards:
    """A topic of its own, and the shards that use it."""

    def __init__(self, bootstrap: str) -> None:
        self.settings = KafkaSettings(bootstrap=bootstrap)
        self.topic = f"test-{time.time_ns()}.scores"
        self.where = TopicPartition(self.topic, 0)
        self.stop = threading.Event()
        self.made: list[KafkaExchange] = []
        self.pool = ThreadPoolExecutor(8)

    def new(
        self,
        shard: int,
        shards: int = SHARDS,
        begin: int | None = None,
        lane: str = "mmp",
        epoch: str = "e1",
    ) -> KafkaExchange:
        exchange = KafkaExchange(
            self.settings, self.topic, "test", lane, epoch, shard, shards, begin, self.stop
        )
        self.made.append(exchange)
        return exchange

    def start(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:  # noqa: ANN401
        return self.pool.submit(work, *arguments)

    def drop(self, exchange: KafkaExchange) -> None:
        self.made.remove(exchange)
        exchange.close()

    def close(self) -> None:
        self.stop.set()
        self.pool.shutdown()
        for exchange in list(self.made):
            self.drop(exchange)

    def write(self, key: bytes, value: bytes) -> int:
        """Write a record by hand; returns its offset."""
        producer = new_producer(self.settings)
        offset: int = producer.send(self.topic, value, key, partition=0).get(30).offset
        producer.close(timeout=5)
        return offset

    def give(self, shard: int, number: int, content: bytes, shards: int = SHARDS) -> int:
        """Write a payload of one part as a shard would; returns its offset."""
        (part,) = split(number, shard, content)
        return self.write(*ScoreRecords(self.topic, "test", "mmp", "e1", shards).encode(part))

    def end(self) -> int:
        """How many records the topic holds, all in all."""
        consumer = new_consumer(self.settings)
        end = consumer.end_offsets([self.where])[self.where]
        consumer.close(autocommit=False)
        return end

    @contextmanager
    def admin(self) -> Iterator[Any]:
        admin = KafkaAdminClient(**connection_options(self.settings))
        yield admin
        admin.close()


def run(exchange: Exchange, first: int, behind_last: int) -> list[list[bytes]]:
    """Swap some exchanges one after another."""
    return [
        exchange.swap(number, payload(exchange.shard, number))
        for number in range(first, behind_last)
    ]


@pytest.fixture
def shards(broker: str) -> Iterator[Shards]:
    made = Shards(broker)
    ensure_scores_topic(made.settings, made.topic)
    yield made
    made.close()


def records_of(numbers: range, shards: int = SHARDS) -> int:
    """How many records these exchanges take if nothing is given twice."""
    return sum(len(split(n, s, payload(s, n))) for n in numbers for s in range(shards))


def test_all_get_the_same(shards: Shards) -> None:
    """Fifty exchanges, empty payloads and large ones; nothing is written twice."""
    running = [shards.start(run, shards.new(shard), 0, 50) for shard in range(SHARDS)]
    for each in running:
        assert each.result(120) == [expected(number) for number in range(50)]
    assert shards.end() == records_of(range(50))
    assert all(exchange.waiting_for == () for exchange in shards.made)


def test_a_payload_of_twenty_megabytes(shards: Shards) -> None:
    """In a topic as a broker makes it by default, which takes records of a megabyte."""
    shards.topic += ".default"
    with shards.admin() as admin:
        admin.create_topics([NewTopic(shards.topic, 1, 1)])
        admin.wait_for_topics([shards.topic])
    ensure_scores_topic(shards.settings, shards.topic)
    large = [random.Random(shard).randbytes(20_000_000) for shard in range(2)]
    running = [shards.start(shards.new(shard, 2).swap, 0, large[shard]) for shard in range(2)]
    for each in running:
        assert each.result(60) == large


def test_too_large_a_payload_is_refused(shards: Shards) -> None:
    with pytest.raises(ValueError, match="Make the blocks of the stream smaller"):
        shards.new(0).swap(0, bytes(MAX_PAYLOAD_BYTES + 1))


def test_a_shard_that_starts_again(shards: Shards) -> None:
    """From where it was at an earlier exchange, then from the beginning; the others go on."""
    others = [shards.start(run, shards.new(shard), 0, 45) for shard in (0, 2)]
    first = shards.new(1)
    run(first, 0, 10)
    kept = first.position(10)
    run(first, 10, 20)
    shards.drop(first)  # the others wait for it now
    second = shards.new(1, begin=kept)
    assert run(second, 10, 32) == [expected(number) for number in range(10, 32)]
    shards.drop(second)
    third = shards.new(1)
    assert run(third, 0, 45) == [expected(number) for number in range(45)]
    for each in others:
        assert each.result(60) == [expected(number) for number in range(45)]
    assert shards.end() == records_of(range(45))


def test_all_start_again_from_different_places(shards: Shards) -> None:
    running = [shards.start(run, shards.new(shard), 0, 8) for shard in range(SHARDS)]
    for each in running:
        each.result(60)
    begins = [None, shards.made[1].position(8), shards.made[2].position(8)]
    for exchange in list(shards.made):
        shards.drop(exchange)
    running = [
        shards.start(run, shards.new(shard, begin=begin), 0 if begin is None else 8, 14)
        for shard, begin in enumerate(begins)
    ]
    for each in running:
        assert each.result(60)[-6:] == [expected(number) for number in range(8, 14)]
    assert shards.end() == records_of(range(14))


def test_a_shard_that_was_killed_between_two_parts(shards: Shards) -> None:
    """Only what is missing of its payload is given again."""
    large = [random.Random(shard).randbytes(3 * PART_BYTES) for shard in range(2)]
    records = ScoreRecords(shards.topic, "test", "mmp", "e1", 2)
    shards.write(*records.encode(split(0, 0, large[0])[1]))
    running = [shards.start(shards.new(shard, 2).swap, 0, large[shard]) for shard in range(2)]
    for each in running:
        assert each.result(60) == large
    assert shards.end() == 6


def test_what_is_given_twice_is_nothing(shards: Shards) -> None:
    """In the same exchange, and in one that is over."""
    for number in range(3):
        for _ in range(2):
            shards.give(1, number, b"one%d" % number, 2)
        if number:
            shards.give(1, number - 1, b"one%d" % (number - 1), 2)
        # Each exchange ends before the next one begins, as real shards have it.
        assert shards.new(0, 2).swap(0, b"zero0") == [b"zero0", b"one0"]
        for later in range(1, number + 1):
            own = b"zero%d" % later
            assert shards.made[-1].swap(later, own) == [own, b"one%d" % later]


def test_another_shard_that_computes_otherwise(shards: Shards) -> None:
    """Found by whoever sees both payloads of one exchange."""
    shards.give(1, 0, b"this")
    offset = shards.give(1, 0, b"that")
    with pytest.raises(DisagreementError) as caught:
        shards.new(0).swap(0, b"")
    message = str(caught.value)
    assert f"offset {offset}" in message
    assert "contradicts what shard 1/3 sent before in exchange 0" in message
    assert "do not compute the same. Run the same version" in message


@pytest.mark.parametrize("now", [b"that", b"", bytes(3 * PART_BYTES)])
def test_a_shard_that_computes_otherwise_since_its_start(shards: Shards, now: bytes) -> None:
    """It notices itself, before it has given anything."""
    shards.give(1, 0, b"this")
    with pytest.raises(DisagreementError, match=r"shard 1/3 sent before in exchange 0"):
        shards.new(1).swap(0, now)
    assert shards.end() == 1


def test_other_lanes_and_epochs_do_not_disturb(shards: Shards) -> None:
    """Also names that begin alike, and records that are of nobody."""
    shards.write(b"", b"")
    shards.write(b'["test","mmp","e1"]', b"nothing")
    shards.write(b'["test","mmp","e0",0,0,0]', b"damaged")
    kinds = [("mmp", "e1"), ("mmp", "e2"), ('mmp","e1', "e1")]
    running = [
        [
            shards.start(run, shards.new(shard, 2, lane=lane, epoch=epoch), turn, 12 + turn)
            for shard in range(2)
        ]
        for turn, (lane, epoch) in enumerate(kinds)
    ]
    for turn, pair in enumerate(running):
        for each in pair:
            assert each.result(60) == [expected(n, 2) for n in range(turn, 12 + turn)]


def test_a_missing_shard_is_named(shards: Shards, caplog: pytest.LogCaptureFixture) -> None:
    """Once, not again and again; the wait costs next to nothing; and it is said when it is back."""
    exchanges = [shards.new(shard) for shard in range(SHARDS)]
    polls, poll = [0], exchanges[0]._consumer.poll

    def counted(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401
        polls[0] += 1
        return poll(*arguments, **options)

    exchanges[0]._consumer.poll = counted  # type: ignore[method-assign]
    began = time.monotonic()
    waiting = [shards.start(run, exchanges[shard], 17, 18) for shard in range(2)]
    message = re.compile(r"lane mmp: waiting for shard 2/3 for \d+ s \(exchange 17\)")

    def times_said() -> int:
        return sum(1 for text in caplog.messages if message.fullmatch(text))

    assert eventually(lambda: times_said() >= 2, 60), caplog.messages
    assert list(exchanges[0].waiting_for) == [2]
    waited = time.monotonic() - began
    assert polls[0] < 2 * waited * 1000 / score_exchange.POLL_MS + 10
    run(exchanges[2], 17, 18)
    for each in waiting:
        assert each.result(30) == [expected(17)]
    assert exchanges[0].waiting_for == ()
    back = [text for text in caplog.messages if "heard from shard 2/3 again" in text]
    assert len(back) == 2
    assert times_said() >= 2


def test_a_wish_to_stop(shards: Shards) -> None:
    """Is followed at once; what was read of the exchange by then is read again after a restart."""
    exchange = shards.new(0)
    begin = exchange.position(0)
    shards.give(1, 0, b"one")
    waiting = shards.start(exchange.swap, 0, b"zero")
    assert eventually(lambda: exchange.waiting_for == (2,))
    shards.stop.set()
    with pytest.raises(StoppedError):
        waiting.result(5)
    assert exchange.position(0) == begin
    with pytest.raises(ValueError, match="not the next one"):
        exchange.swap(1, b"")
    shards.stop.clear()
    shards.give(2, 0, b"two")
    again = shards.new(0, begin=begin)
    assert again.swap(0, b"zero") == [b"zero", b"one", b"two"]
    assert shards.end() == 3


def test_exchanges_out_of_turn_are_refused(shards: Shards) -> None:
    alone = shards.new(0, 1)
    assert alone.swap(5, b"x") == [b"x"]
    for wrong in (4, 5, 7):
        with pytest.raises(ValueError, match=f"expected exchange 6, got {wrong}"):
            alone.swap(wrong, b"x")
        with pytest.raises(ValueError, match="not the next one"):
            alone.position(wrong)
    with pytest.raises(ValueError, match="no shard 3 of 3"):
        shards.new(3)


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
    assert "Start this shard with a newer snapshot, or start all shards over" in str(caught.value)
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
        (found,) = admin.describe_topics([shards.topic])
        options = admin.describe_configs([resource], config_filter="all")["topic"][shards.topic]
    assert len(found["partitions"]) == 1
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


def test_records_are_as_documented(shards: Shards) -> None:
    """A key that can be read by people, and a box."""
    assert shards.new(0, 1, lane='a "lane"').swap(4, b"scores") == [b"scores"]
    consumer = new_consumer(shards.settings)
    consumer.assign([shards.where])
    consumer.seek(shards.where, 0)
    (found,) = consumer.poll(30_000)[shards.where]
    consumer.close(autocommit=False)
    assert orjson.loads(found.key or b"") == ["test", 'a "lane"', "e1", 4, 0, 0]
    assert (found.value or b"")[:6] == b"WRSC\x01\x00"


def test_how_long_a_small_exchange_takes(shards: Shards) -> None:
    """Measured, not judged: `pytest -s` shows it."""

    def timed(exchange: KafkaExchange) -> list[float]:
        seconds = []
        for number in range(200):
            began = time.perf_counter()
            exchange.swap(number, bytes(1000))
            seconds.append(time.perf_counter() - began)
        return sorted(seconds[1:])

    running = [shards.start(timed, shards.new(shard, 2)) for shard in range(2)]
    for each in running:
        found = each.result(60)
        middle, most = statistics.median(found), found[int(0.99 * len(found))]
        print(f"an exchange of 1 KB: median {middle * 1000:.1f} ms, p99 {most * 1000:.1f} ms")
