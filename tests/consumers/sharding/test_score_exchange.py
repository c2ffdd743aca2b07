"""Shards that give each other their scores through a real broker."""

from __future__ import annotations

import random
import re
import statistics
import time
from typing import Any

import orjson
import pytest
from kafka.admin import NewTopic

from consumers.kafka.clients import (
    PART_BYTES,
    new_consumer,
)
from consumers.kafka.topics import ensure_scores_topic
from consumers.sharding import score_exchange
from consumers.sharding.score_exchange import KafkaExchange, StoppedError
from consumers.sharding.score_records import (
    MAX_BACKLOG,
    MAX_PAYLOAD_BYTES,
    ScoreRecords,
    split,
)
from learners.sharding.exchange import DisagreementError
from pipeline.storage.container import DamagedError
from tests.support.exchanging_shards import SHARDS, Shards, expected, records_of, run
from tests.support.kafka_stream import eventually


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


def test_the_backlog_is_that_of_the_first_shard(shards: Shards) -> None:
    """A shard that gives its payload again may have another backlog: the first in the topic counts.

    So all shards, also those that start later and the first shard itself, find the same.
    """

    def run_with(shard: int, backlogs: list[int]) -> list[int]:
        exchange, found = shards.new(shard, 2, backlog=iter(backlogs).__next__), []
        for number in range(len(backlogs)):
            exchange.swap(number, b"%d %d" % (number, shard))
            found.append(exchange.backlog)
        return found

    running = [shards.start(run_with, 0, [3, 0, 64]), shards.start(run_with, 1, [7, 8, 9])]
    assert [each.result(60) for each in running] == [[3, 0, 64], [3, 0, 64]]
    shards.give(0, 3, b"3 0", 2, backlog=5)
    shards.give(0, 3, b"3 0", 2, backlog=6)
    shards.give(1, 3, b"3 1", 2, backlog=7)
    for shard in (0, 1):
        assert run_with(shard, [1, 2, 1, 2]) == [3, 0, 64, 5]


@pytest.mark.parametrize("backlog", [-1, MAX_BACKLOG + 1])
def test_a_backlog_that_cannot_be_is_refused(shards: Shards, backlog: int) -> None:
    shards.give(0, 0, b"zero", 2, backlog)
    with pytest.raises(DamagedError, match=f"a backlog of {backlog}; it must be from 0 to 64"):
        shards.new(1, 2).swap(0, b"one")


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
    with pytest.raises(ValueError, match="exchange 0 was not completed"):
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
        with pytest.raises(ValueError, match=f"expected exchange 6, got {wrong}"):
            alone.position(wrong)
    with pytest.raises(ValueError, match="no shard 3 of 3"):
        shards.new(3)


def test_records_are_as_documented(shards: Shards) -> None:
    """A key that can be read by people, and a box."""
    assert shards.new(0, 1, lane='a "lane"').swap(4, b"scores") == [b"scores"]
    consumer = new_consumer(shards.settings)
    consumer.assign([shards.where])
    consumer.seek(shards.where, 0)
    (actual,) = consumer.poll(30_000)[shards.where]
    consumer.close(autocommit=False)
    assert orjson.loads(actual.key or b"") == ["test", 'a "lane"', "e1", 4, 0, 0]
    assert (actual.value or b"")[:6] == b"WRSC\x01\x00"


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
        actual = each.result(60)
        middle, most = statistics.median(actual), actual[int(0.99 * len(actual))]
        print(f"an exchange of 1 KB: median {middle * 1000:.1f} ms, p99 {most * 1000:.1f} ms")
