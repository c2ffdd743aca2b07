"""Records in every compression: written by another client, or compressed by the broker."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient

from consumers.kafka.clients import connection_options, new_producer
from consumers.supervisor import NEEDS_AN_OPERATOR
from deploy.kafka import Cluster
from pipeline.corpora import open_source
from tests.support.kafka_fixture import need_kafka
from tests.support.kafka_stream import Streaming, assert_exact, values_by_lane

LANE = "mmp:loss=1"


SHARDED = "perceptron"
WORKERS = ("tokenize-0", "learn", f"learn@{SHARDED}#0", f"learn@{SHARDED}#1")


def write_with_kcat(streaming: Streaming, events: list[bytes], codec: str) -> None:
    """Write events with a client that is not kafka-python."""
    command = ["kcat", "-P", "-q", "-b", streaming.bootstrap, "-t", streaming.documents]
    lines = b"\n".join(event.rstrip(b"\n") for event in events)
    subprocess.run([*command, "-p", "0", "-z", codec], input=lines, check=True, timeout=120)


def compress_topics(streaming: Streaming, codec: str) -> None:
    """Have the broker compress whatever is written to any topic of the stream."""
    admin = KafkaAdminClient(**connection_options(streaming.config.kafka))
    for topic in streaming.stream.kafka_topics:
        configs = {"compression.type": codec}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=configs)])
    admin.close()


@pytest.fixture
def streaming(broker: str, tmp_path: Path) -> Iterator[Streaming]:
    with Streaming(broker, tmp_path, [LANE]) as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec_on_all_topics(codec: str, broker: str, tmp_path: Path) -> None:
    """First the producer compresses, then the broker, also what the workers write."""
    events = list(open_source("synthetic:120,topics=12"))
    with Streaming(broker, tmp_path, [LANE, SHARDED], shards={SHARDED: 2}) as streaming:
        write_with_kcat(streaming, [*events[:30], b"no JSON", *events[30:60]], codec)
        compress_topics(streaming, codec)
        for name in WORKERS:
            streaming.start(name)
        streaming.produce(events[60:])
        streaming.wait_learned()
        published = streaming.rankings(2 * len(events))
        (letter,) = streaming.read(streaming.stream.dead_letters, 1)
        assert dict(letter.headers)["reason"] == b"not_json"
        for name in WORKERS:
            assert streaming.end(name) == 0, streaming.log(name)
        found = values_by_lane(message.value for message in published)
        expected = values_by_lane(streaming.undisturbed()[1])
        assert found[LANE] == expected[LANE]
        assert len(found[SHARDED]) == len(events)


def test_a_batch_that_expands_beyond_the_limit_is_a_dead_letter(streaming: Streaming) -> None:
    """Of a few kilobytes that expand to 100 MB only the batch itself is kept."""
    events = list(open_source("synthetic:40,topics=12"))
    streaming.produce(events[:20])
    producer: Any = new_producer(
        streaming.config.kafka, compression_type="zstd", max_request_size=256 << 20
    )
    producer.send(streaming.documents, b" " * (100 << 20), partition=0).get(60)
    producer.close(timeout=5)
    for name in ("tokenize-0", "learn"):
        streaming.start(name)
    streaming.produce(events[20:])
    streaming.wait_learned()
    published = streaming.rankings(len(events))
    (letter,) = streaming.read(streaming.stream.dead_letters, 1)
    told = dict(letter.headers)
    assert (told["reason"], told["offset"]) == (b"undecodable_batch", b"20")
    assert b"expand to more than 67,108,864 bytes" in told["detail"]
    assert letter.value is not None
    assert len(letter.value) < 100_000
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)
    assert_exact(streaming, published, events)


@pytest.mark.slow
def test_documents_that_are_damaged_on_disk_need_an_operator(tmp_path: Path) -> None:
    """A bit of the broker's file is flipped. The broker does not notice, but its reader does."""
    need_kafka()
    with (
        Cluster(tmp_path / "kafka") as kafka,
        Streaming(kafka.bootstrap, tmp_path, [LANE]) as streaming,
    ):
        streaming.produce(list(open_source("synthetic:40,topics=12")))
        (file,) = (tmp_path / "kafka").rglob(f"{streaming.documents}-0/*.log")
        with file.open("r+b") as opened:
            opened.seek(200)
            (byte,) = opened.read(1)
            opened.seek(200)
            opened.write(bytes([byte ^ 1]))
        streaming.start("tokenize-0")
        assert streaming.code("tokenize-0") == NEEDS_AN_OPERATOR, streaming.log("tokenize-0")
        assert "damaged each of 5 times they were read" in streaming.log("tokenize-0")
        assert not streaming.read(streaming.stream.dead_letters, 1)
