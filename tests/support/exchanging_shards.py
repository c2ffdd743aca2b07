"""Shards that exchange known payloads over a broker."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient

from consumers.kafka.clients import (
    connection_options,
    new_consumer,
    new_producer,
)
from consumers.settings import KafkaSettings
from consumers.sharding.score_exchange import KafkaExchange
from consumers.sharding.score_records import ScoreRecords, split
from learners.sharding.exchange import Exchange

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
        backlog: Callable[[], int] = lambda: 0,
    ) -> KafkaExchange:
        exchange = KafkaExchange(
            self.settings, self.topic, "test", lane, epoch, shard, shards, begin, self.stop,
            own_backlog=backlog,
        )  # fmt: skip
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

    def give(
        self, shard: int, number: int, content: bytes, shards: int = SHARDS, backlog: int = 0
    ) -> int:
        """Write a payload of one part as a shard would; returns its offset."""
        (part,) = split(number, shard, content, backlog)
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


def records_of(numbers: range, shards: int = SHARDS) -> int:
    """How many records these exchanges take if nothing is given twice."""
    return sum(len(split(n, s, payload(s, n))) for n in numbers for s in range(shards))
