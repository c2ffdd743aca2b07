"""Events on which tokenizers die, or that no Kafka topic accepts: the stream goes on."""

from __future__ import annotations

import hashlib
import random
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError

from consumers.kafka.client_types import Message
from consumers.kafka.clients import connection_options, new_producer
from consumers.kafka_names import tokenizer_consumer_group
from consumers.supervisor import NEEDS_AN_OPERATOR
from consumers.tokenizer.suspects import MAX_STARTS, MAX_TRIALS
from pipeline.corpora import open_source
from pipeline.events.event import Id
from pipeline.log.record import LogRecord, decode_record
from tests.support.kafka_stream import PATIENCE_S, Streaming, assert_exact, eventually

LANE = "mmp:loss=1"
DEADLY = ("tests.support.deadly_tokenizer",)


@pytest.fixture
def streaming(broker: str, tmp_path: Path) -> Iterator[Streaming]:
    with Streaming(broker, tmp_path, [LANE], partitions=2) as made:
        yield made


def document(text: str) -> bytes:
    return orjson.dumps({"id": text, "text": text, "topics": ["poison"]})


def headers(message: Message) -> dict[str, bytes]:
    return dict(message.headers)


def limit_records(streaming: Streaming, topic: str, size: int) -> None:
    """Set the size of the largest record that a Kafka topic accepts."""
    admin = KafkaAdminClient(**connection_options(streaming.config.kafka))
    configs = {"max.message.bytes": str(size)}
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=configs)])
    admin.close()


def produce_large(streaming: Streaming, value: bytes) -> None:
    """Write an event that is larger than those that Wirerank writes itself."""
    producer: Any = new_producer(
        streaming.config.kafka, max_request_size=64 << 20, compression_type=None
    )
    producer.send(streaming.documents, value, partition=0).get(60)
    producer.close(timeout=5)


def restart_until_read(streaming: Streaming, documents: int) -> int:
    """Restart the tokenizer whenever it dies, until all documents are read; returns the deaths."""
    deaths = 0
    group = tokenizer_consumer_group(streaming.name)
    admin = KafkaAdminClient(**connection_options(streaming.config.kafka))

    def has_died_or_is_done() -> bool:
        if streaming.processes["tokenize-0"].poll() is not None:
            return True
        try:
            offsets = admin.list_group_offsets([group])[group]
        except KafkaError:
            return False  # the group has no coordinator yet
        return bool(sum(at.offset for at in offsets.values()) == documents)

    while True:
        streaming.start("tokenize-0", program=DEADLY)
        assert eventually(has_died_or_is_done, PATIENCE_S), streaming.diagnosis()
        if streaming.processes["tokenize-0"].poll() is None:
            admin.close()
            return deaths
        deaths += 1


@pytest.mark.parametrize("word", ["DEADLY", "ENDLESS"])
def test_an_event_that_no_tokenizer_survives_is_buried(word: str, streaming: Streaming) -> None:
    events = list(open_source("synthetic:60,topics=12"))
    poison = document(word)
    streaming.start("learn")
    streaming.produce([*events[:31], poison, *events[31:]])
    assert restart_until_read(streaming, len(events) + 1) == MAX_STARTS + MAX_TRIALS
    streaming.wait_learned()
    published = streaming.rankings(len(events))
    (letter,) = streaming.read(streaming.stream.dead_letters, 1)
    assert letter.value == poison
    assert headers(letter)["reason"] == b"worker_died"
    assert headers(letter)["detail"].startswith(b"3 processes died or hung")
    if word == "ENDLESS":
        assert "Timeout (0:00:01" in streaming.log("tokenize-0")  # with the stacks of its threads
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)
    assert_exact(streaming, published, events)


def test_processes_that_die_while_they_write_bury_nothing(streaming: Streaming) -> None:
    """That can be the fault of a broker, or of whoever kills them, but not of an event."""
    events = list(open_source("synthetic:40,topics=12"))
    streaming.produce(events)
    streaming.start("learn")
    streaming.environment = {"DIE_WRITING": "1"}
    for _ in range(MAX_STARTS + MAX_TRIALS + 2):
        streaming.start("tokenize-0", program=DEADLY)
        assert streaming.code("tokenize-0") == -signal.SIGKILL
    streaming.environment = {}
    streaming.start("tokenize-0")
    streaming.wait_learned()
    published = streaming.rankings(len(events))
    assert "one at a time" in streaming.log("tokenize-0")
    assert not streaming.read(streaming.stream.dead_letters, 1)
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)
    assert_exact(streaming, published, events)


@pytest.mark.parametrize("limit", [8 << 20, 80 << 10])
def test_a_dead_letter_that_does_not_fit_is_cut(limit: int, streaming: Streaming) -> None:
    """An event of 12 MB, and a dead-letter topic that accepts fewer bytes."""
    events = list(open_source("synthetic:40,topics=12"))
    huge = random.Random(5).randbytes(12_000_000)  # cannot be compressed
    limit_records(streaming, streaming.documents, 32 << 20)
    limit_records(streaming, streaming.stream.dead_letters, limit)
    for name in ("tokenize-0", "learn"):
        streaming.start(name)
    streaming.produce(events[:20])
    produce_large(streaming, huge)
    streaming.produce(events[20:])
    streaming.wait_learned()
    published = streaming.rankings(len(events))
    (letter,) = streaming.read(streaming.stream.dead_letters, 1)
    told = headers(letter)
    assert told["reason"] == b"too_large"
    assert told["size"] == b"12000000"
    assert told["sha256"].decode() == hashlib.sha256(huge).hexdigest()
    assert (told["partition"], told["offset"]) == (b"0", b"10")
    assert letter.value is not None
    assert limit / 2 < len(letter.value) < limit
    assert huge.startswith(letter.value)
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)
        assert "trying again" not in streaming.log(name)
    assert_exact(streaming, published, events)


def test_a_limit_that_is_lowered_while_a_tokenizer_runs(streaming: Streaming) -> None:
    """Dead letters are cut further. If none fits at all, the tokenizer stops, and the log waits."""
    events = list(open_source("synthetic:40,topics=12"))
    streaming.start("tokenize-0")
    streaming.produce(events[:20])
    streaming.wait_logged()
    limit_records(streaming, streaming.stream.dead_letters, 50_000)
    bad = random.Random(6).randbytes(200_000)
    streaming.produce([bad, *events[20:]])
    (letter,) = streaming.read(streaming.stream.dead_letters, 1, wanted=1)
    assert headers(letter)["size"] == b"200000"
    assert letter.value is not None
    assert bad.startswith(letter.value)
    assert 20_000 < len(letter.value) < 50_000
    streaming.wait_logged()
    limit_records(streaming, streaming.stream.dead_letters, 100)
    before = len(streaming.read(streaming.stream.blocks, 1))
    streaming.produce([bad, *events[:20]])
    assert streaming.code("tokenize-0") == NEEDS_AN_OPERATOR
    assert "raise its max.message.bytes" in streaming.log("tokenize-0")
    assert len(streaming.read(streaming.stream.blocks, 1)) == before
    streaming.start("tokenize-0")
    assert streaming.code("tokenize-0") == NEEDS_AN_OPERATOR
    assert "accepts records of at most 100 bytes" in streaming.log("tokenize-0")


def test_retries_do_not_grow_the_log(streaming: Streaming) -> None:
    """The dead-letter topic cannot be written for a while; the documents go through once."""
    events = list(open_source("synthetic:20,topics=12"))
    streaming.environment = {"FAIL_DEAD_LETTERS": "6"}
    streaming.start("learn")
    streaming.start("tokenize-0", program=DEADLY)
    streaming.produce([*events[:10], b"no JSON", b"nor this", *events[10:]])
    streaming.wait_learned()
    published = streaming.rankings(len(events))
    log = streaming.log("tokenize-0")
    pauses = [float(found) for found in re.findall(r"trying again in ([0-9.]+) s", log)]
    assert len(pauses) == 6, log
    assert pauses == sorted(pauses)
    assert pauses[-1] >= 4 * pauses[0]  # the pauses grow
    letters = streaming.read(streaming.stream.dead_letters, 1)
    assert sorted(letter.value or b"" for letter in letters) == [b"no JSON", b"nor this"]
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)
    entries = [
        id_
        for message in streaming.read(streaming.stream.blocks, 1)
        for id_ in ids(decode_record(message.value or b"", "a record"))
    ]
    assert len(entries) == len(set(entries)) == len(events)
    assert_exact(streaming, published, events)


def ids(record: LogRecord) -> list[Id]:
    return [entry.id for entry in record.block.entries]
