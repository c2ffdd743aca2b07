"""The first payload of an exchange decides whether shards take a segment together or apart."""

from __future__ import annotations

import logging
import time

import pytest

from consumers.kafka.clients import PART_BYTES
from consumers.sharding import score_exchange
from consumers.sharding.score_exchange import StoppedError
from consumers.sharding.score_records import ExchangeParts, PayloadPart, ScoreRecords, split
from learners.sharding.exchange import APART, TOGETHER, DisagreementError, OutvotedError, Sent
from pipeline.storage.container import DamagedError, pack
from tests.support.exchanging_shards import Shards


def record_of(shards: Shards, part: PayloadPart) -> tuple[bytes, bytes]:
    return ScoreRecords(shards.topic, "test", "mmp", "e1", 2).encode(part)


@pytest.mark.parametrize(("first", "second"), [(APART, TOGETHER), (TOGETHER, APART)])
def test_the_first_payload_decides(shards: Shards, first: int, second: int) -> None:
    """A shard that is outvoted tries again; what it had sent with the other mark is ignored."""
    shards.write(*record_of(shards, split(0, 1, b"one", mark=first)[0]))
    shards.write(*record_of(shards, split(0, 0, b"other", mark=second)[0]))
    exchange = shards.new(0, 2)
    assert exchange.sent(0) == Sent(first, b"one")
    for _ in range(2):
        with pytest.raises(OutvotedError):
            exchange.swap(0, b"other", mark=second)
    assert exchange.swap(0, b"zero", mark=first) == [b"zero", b"one"]
    assert exchange.sent(1) is None
    shards.give(1, 1, b"more", 2)
    assert exchange.swap(1, b"own") == [b"own", b"more"]


def test_a_race_is_decided_by_the_topic(shards: Shards) -> None:
    """Both send at the same time: one of them is outvoted, and both end with the same."""
    for number in range(10):
        made = [shards.new(shard, 2, begin=shards.end()) for shard in range(2)]

        def take(shard: int, mark: int, number: int = number, made: list = made) -> int:  # type: ignore[type-arg]
            try:
                made[shard].swap(number, b"%d" % mark, mark=mark)
            except OutvotedError:
                mark = 1 - mark
                made[shard].swap(number, b"%d" % mark, mark=mark)
            return mark

        running = [shards.start(take, 0, APART), shards.start(take, 1, TOGETHER)]
        marks = [each.result(60) for each in running]
        assert marks[0] == marks[1]


def test_a_payload_decides_when_it_is_complete(shards: Shards) -> None:
    """A shard that was killed between two parts of its payload has decided nothing."""
    parts = split(0, 1, bytes(PART_BYTES + 1), mark=TOGETHER)
    shards.write(*record_of(shards, parts[0]))
    exchange = shards.new(0, 2)
    assert exchange.sent(0) is None
    shards.write(*record_of(shards, split(0, 1, b"one")[0]))
    shards.write(*record_of(shards, parts[1]))
    deadline = time.monotonic() + 30
    while (sent := exchange.look(0, [1], 1.0)) is None and time.monotonic() < deadline:
        pass
    assert sent == Sent(APART, b"one")
    assert exchange.swap(0, b"zero") == [b"zero", b"one"]


def test_a_restart_knows_all_that_was_sent(shards: Shards) -> None:
    """Also a payload of many parts, of which several polls are needed."""
    payload = bytes(20 * PART_BYTES)
    for part in split(0, 1, payload, mark=TOGETHER):
        shards.write(*record_of(shards, part))
    assert shards.new(0, 2).sent(0) == Sent(TOGETHER, payload)


def test_an_own_payload_with_the_other_mark_may_come_late() -> None:
    """It was sent before a restart, and the broker has shown it only now."""
    parts = ExchangeParts(0, 0, 2)
    parts.give(split(0, 0, b"apart"))
    parts.add(split(0, 1, b"one", mark=TOGETHER)[0], "a record")
    parts.add(split(0, 0, b"zero", mark=TOGETHER)[0], "another")
    assert parts.mark == TOGETHER
    assert parts.payloads() == [b"zero", b"one"]


def test_a_shard_that_waits_in_memory_says_so_and_can_be_stopped(
    shards: Shards, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_exchange, "LOG_AFTER_S", 0.5)
    exchange = shards.new(0, 2)
    assert exchange.look(0, [1], 0.1) is None
    with caplog.at_level(logging.WARNING, "consumers"):
        exchange.look(0, [1], 0.7)
        assert "lane mmp: waiting for shard 1/2 for 1 s (exchange 0)" in caplog.text
        shards.give(1, 0, b"", 2)
        exchange.swap(0, b"")
        assert "heard from shard 1/2 again after 1 s (exchange 0)" in caplog.text
    shards.stop.set()
    with pytest.raises(StoppedError):
        exchange.look(1, [1], 0.0)


def test_a_payload_that_came_back_must_be_the_same() -> None:
    """A shard computes its payload after it has read what it sent before its restart."""
    parts = ExchangeParts(0, 0, 2)
    parts.add(split(0, 0, b"before")[0], "a record")
    with pytest.raises(DisagreementError, match="contradicts what shard 0/2 sent before"):
        parts.give(split(0, 0, b"now"))
    parts.give(split(0, 0, b"now"), adopt=True)
    parts.give(split(0, 0, b"before"))


@pytest.mark.parametrize("mark", [2, -1, "1", 0.5])
def test_a_mark_that_there_is_not_is_damage(shards: Shards, mark: object) -> None:
    key, _ = record_of(shards, split(0, 1, b"")[0])
    content = {"parts": 1, "bytes": 0, "backlog": 0, "mark": mark}
    shards.write(key, pack(b"WRSC", 1, content, {}))
    with pytest.raises(DamagedError, match="mark"):
        shards.new(0, 2).sent(0)
