"""Records encoded by the kernel equal, in the topic, those that kafka-python sends one by one."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.partitioner.default import murmur2 as slow_murmur2

from consumers.kafka.batch_encoder import BATCH_BYTES, BatchProducer, murmur2, partitions_of
from consumers.kafka.clients import connection_options, new_consumer, new_producer
from consumers.settings import KafkaSettings
from pipeline.storage.binary_array import BinaryArray


def test_the_hash_is_that_of_the_client() -> None:
    rng = random.Random(1)
    keys = [rng.randbytes(rng.randrange(30)) for _ in range(500)]
    packed = BinaryArray.from_strings(keys)
    for number, key in enumerate(keys):
        start, stop = packed.offsets[number], packed.offsets[number + 1]
        assert murmur2(packed.data, start, stop) == slow_murmur2(key)
    expected = [(slow_murmur2(key) & 0x7FFFFFFF) % 7 for key in keys]
    assert partitions_of(packed.data, packed.offsets, 7).tolist() == expected


def read(settings: KafkaSettings, topic: str, partitions: int, wanted: int) -> list[Any]:
    consumer: Any = new_consumer(settings, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, p) for p in range(partitions)])
    collected: list[Any] = []
    until = time.monotonic() + 30
    while len(collected) < wanted and time.monotonic() < until:
        collected += [m for messages in consumer.poll(500).values() for m in messages]
    consumer.close(autocommit=False)
    return sorted(collected, key=lambda m: (m.partition, m.offset))


@pytest.mark.parametrize("sizes", [(0, 40), (100, 2000), (60_000, 400_000)])
def test_packed_records_are_those_sent_one_by_one(broker: str, sizes: tuple[int, int]) -> None:
    rng = random.Random(sizes[0])
    settings = KafkaSettings(bootstrap=broker)
    count = 12 if sizes[0] > 1000 else 900
    records = [
        (str(rng.randrange(10**9)).encode(), rng.randbytes(rng.randrange(*sizes)))
        for _ in range(count)
    ]
    records[5] = (b"large", rng.randbytes(BATCH_BYTES + 1000))
    names = [f"packed-{time.time_ns()}-{way}" for way in ("one-by-one", "at-once")]
    admin: Any = KafkaAdminClient(**connection_options(settings))
    limits = {"max.message.bytes": str(4 << 20)}
    admin.create_topics([NewTopic(name, 3, 1, topic_configs=limits) for name in names])
    admin.wait_for_topics(names)
    admin.close()
    producer: Any = new_producer(settings, BatchProducer)
    for key, value in records:
        producer.send(names[0], value, key)
    keys, values = zip(*records, strict=True)
    sent = producer.send_many(
        names[1], BinaryArray.from_strings(keys), BinaryArray.from_strings(values)
    )
    producer.flush(30)
    assert all(future.succeeded() for future in sent)
    one, other = (read(settings, name, 3, count) for name in names)
    producer.close(timeout=5)
    assert [(m.partition, m.offset, m.key, m.value, m.headers) for m in other] == [
        (m.partition, m.offset, m.key, m.value, m.headers) for m in one
    ]
    assert len(one) == count


def test_a_broker_that_is_gone_fails_the_future(tmp_path: Any) -> None:  # noqa: ANN401
    """A record that was not written is never reported as written."""
    from deploy.kafka import Cluster
    from tests.support.kafka_fixture import need_kafka

    need_kafka()
    with Cluster(tmp_path) as cluster:
        settings = KafkaSettings(bootstrap=cluster.bootstrap)
        admin: Any = KafkaAdminClient(**connection_options(settings))
        admin.create_topics([NewTopic("t", 1, 1)])
        admin.wait_for_topics(["t"])
        admin.close()
        producer: Any = new_producer(
            settings, BatchProducer, request_timeout_ms=1000, delivery_timeout_ms=2500
        )
        (sent,) = producer.send_many(
            "t", BinaryArray.from_strings([b"k"]), BinaryArray.from_strings([b"first"])
        )
        assert sent.get(10).offset == 0
        cluster.brokers[0].kill()
        (lost,) = producer.send_many(
            "t", BinaryArray.from_strings([b"k"]), BinaryArray.from_strings([b"second"])
        )
        with pytest.raises(Exception, match=r"(?i)timeout|timed out|expired|batch"):
            lost.get(20)
        assert not lost.succeeded()
        producer.close(timeout=0)
