"""How many of the newest records of a log have a given size, by a sample of them."""

from __future__ import annotations

import time

import pytest
from kafka.admin import KafkaAdminClient, NewTopic

from consumers.kafka.clients import connection_options, new_producer
from consumers.kafka.log_reader import describe_log
from consumers.kafka.log_storage import sample_sizes
from consumers.kafka.record_sizes import RecordSizes
from consumers.settings import KafkaSettings

BIG, SMALL = 20_000, 200


def test_an_empty_log_has_no_sizes() -> None:
    sizes = RecordSizes(7, 7, ())
    assert sizes.mean == 0
    assert sizes.first_of_newest(100) == 7


@pytest.mark.parametrize("limit", [10_000, 40_000, 300_000])
def test_large_records_before_small_ones(broker: str, limit: int) -> None:
    """As after a start: first a tokenizer catches up with many documents per record."""
    settings = KafkaSettings(bootstrap=broker)
    topic = f"sizes-{time.time_ns()}"
    admin = KafkaAdminClient(**connection_options(settings))
    admin.create_topics([NewTopic(topic, 1, 1)])
    admin.wait_for_topics([topic])
    admin.close()
    values = [b"x" * BIG] * 30 + [b"x" * SMALL] * 370
    producer = new_producer(settings)
    for value in values:
        producer.send(topic, value, partition=0)
    producer.flush(60)
    producer.close(timeout=5)
    sizes = sample_sizes(settings, describe_log(settings, topic))
    assert sizes.mean == pytest.approx(sum(map(len, values)) / len(values), rel=0.3)
    kept = sum(map(len, values[sizes.first_of_newest(limit) :]))
    assert kept == pytest.approx(limit, rel=0.5)
