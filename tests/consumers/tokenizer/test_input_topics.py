"""Streams that read several topics, by name or pattern, labels apart, from where they are told."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic
from kafka.errors import KafkaError

from consumers.config import read_config
from consumers.kafka.clients import (
    connection_options,
    new_admin,
    new_producer,
    new_transactional_producer,
)
from consumers.kafka.input_end import input_pattern
from consumers.kafka.offsets import offsets_to_commit
from consumers.kafka_names import tokenizer_consumer_group
from consumers.settings import ConfigError
from consumers.supervisor import NEEDS_AN_OPERATOR
from pipeline.corpora import open_source
from pipeline.storage.binary_array import BinaryArray
from tests.support.kafka_stream import SMALL, Streaming, assert_exact, eventually

LANE = "mmp:loss=1"
WORKERS = ("tokenize-0", "learn")


def start(streaming: Streaming) -> None:
    for name in WORKERS:
        streaming.start(name)


def end(streaming: Streaming) -> None:
    for name in WORKERS:
        assert streaming.end(name) == 0, streaming.log(name)


def write(streaming: Streaming, topic: str, events: Sequence[bytes]) -> None:
    producer = new_producer(streaming.config.kafka)
    for event in events:
        producer.send(topic, event, partition=0)
    producer.flush(60)
    producer.close(timeout=5)


def create(streaming: Streaming, topic: str, partitions: int = 1, **configs: str) -> None:
    admin = new_admin(streaming.config.kafka)
    options = {name.replace("_", "."): value for name, value in configs.items()}
    admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=options)])
    admin.wait_for_topics([topic])
    admin.close()


def committed(streaming: Streaming) -> dict[tuple[str, int], int]:
    """The offsets that the tokenizers have committed."""
    group = tokenizer_consumer_group(streaming.name)
    admin = KafkaAdminClient(**connection_options(streaming.config.kafka))
    try:
        offsets = admin.list_group_offsets([group])[group]
    except KafkaError:
        return {}  # the group has no coordinator yet
    finally:
        admin.close()
    return {(p.topic, p.partition): found.offset for p, found in offsets.items()}


def write_transactions(streaming: Streaming, events: Sequence[bytes]) -> None:
    """Write documents in transactions, of which every second one is aborted."""
    writer: Any = new_transactional_producer(streaming.config.kafka, streaming.name)
    writer.init_transactions()
    for start in range(0, len(events), 10):
        for abort in (True, False):
            writer.begin_transaction()
            values = list(events[start : start + 10])
            keys = BinaryArray.from_strings([b"k"] * len(values))
            writer.send_many(streaming.documents, keys, BinaryArray.from_strings(values))
            writer.flush(10)
            if abort:
                writer.abort_transaction()
            else:
                writer.commit_transaction()
    writer.close(timeout=5)


def test_markers_behind_the_last_document_count_as_read(broker: str, tmp_path: Path) -> None:
    """Nothing lags, and retention may delete the markers too."""
    events = list(open_source("synthetic:40,topics=12"))
    with Streaming(broker, tmp_path, [LANE]) as streaming:
        start(streaming)
        write_transactions(streaming, events[:20])
        # Four transactions: of 20 documents and 20 aborted ones, with a marker each.
        assert eventually(lambda: committed(streaming) == {(streaming.documents, 0): 44})
        end(streaming)
        admin = KafkaAdminClient(**connection_options(streaming.config.kafka))
        admin.delete_records({TopicPartition(streaming.documents, 0): 44})
        admin.close()
        start(streaming)
        write_transactions(streaming, events[20:])
        assert eventually(lambda: committed(streaming) == {(streaming.documents, 0): 88})
        streaming.wait_learned()
        published = streaming.rankings(len(events))
        end(streaming)
        assert_exact(streaming, published, events)


@pytest.mark.slow
def test_compaction_and_a_lost_group_leave_no_gap(broker: str, tmp_path: Path) -> None:
    """Superseded documents disappear, before and after they are read, and so do the offsets."""
    events = list(open_source("synthetic:60,topics=12"))
    with Streaming(broker, tmp_path, [LANE]) as streaming:
        admin = KafkaAdminClient(**connection_options(streaming.config.kafka))
        compact = {
            "cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01",
            "min.compaction.lag.ms": "0", "delete.retention.ms": "0",
        }  # fmt: skip
        place = ConfigResource(ConfigResourceType.TOPIC, streaming.documents, configs=compact)
        admin.alter_configs([place])
        start(streaming)
        producer = new_producer(streaming.config.kafka)
        for n, event in enumerate(events[:30]):
            producer.send(streaming.documents, event, key=b"%d" % (n % 3), partition=0)
        producer.flush(60)
        streaming.wait_learned()
        end(streaming)
        for event in events[30:]:
            producer.send(streaming.documents, event, key=b"the same", partition=0)
            producer.flush(60)
            time.sleep(0.02)
        producer.close(timeout=5)

        def is_compacted() -> bool:
            # A record with a new key begins a new segment; the one before can be cleaned then.
            write_keyed = new_producer(streaming.config.kafka)
            write_keyed.send(streaming.documents, b"{}", key=b"roll", partition=0)
            write_keyed.close(timeout=5)
            return len(streaming.read(streaming.documents, 1)) < 30

        assert eventually(is_compacted, 90)
        admin.delete_groups([tokenizer_consumer_group(streaming.name)])
        admin.close()
        start(streaming)
        streaming.wait_learned()
        published = streaming.rankings(0)
        end(streaming)
        ids = {orjson.loads(message.value or b"")["id"] for message in published}
        assert len(ids) == len(published) >= 31  # the first 30, and the last one
        assert sorted(m.value or b"" for m in published) == sorted(streaming.undisturbed()[1])


def test_several_topics_and_one_that_is_created_later(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:60,topics=12"))
    name = f"desk-{time.time_ns()}"
    settings = f'{SMALL}\ndocuments = "{name}.extra"\ndocuments_pattern = "{name}[.]wire.*"'
    with Streaming(broker, tmp_path, [LANE], settings=settings) as streaming:
        create(streaming, f"{name}.wire-a", 2)
        create(streaming, f"{name}.other")
        start(streaming)
        write(streaming, f"{name}.extra", events[:20])
        write(streaming, f"{name}.wire-a", events[20:40])
        write(streaming, f"{name}.other", [b"not for this stream"])
        assert len(streaming.rankings(40)) == 40, streaming.diagnosis()
        create(streaming, f"{name}.wire-b")
        write(streaming, f"{name}.wire-b", events[40:])
        published = streaming.rankings(60)
        end(streaming)
        assert_exact(streaming, published, events)
        assert not streaming.read(streaming.stream.dead_letters, 1)


def test_a_pattern_never_matches_what_workers_write(tmp_path: Path) -> None:
    path = tmp_path / "wirerank.toml"
    path.write_text(
        '[[streams]]\nname = "a"\ndocuments_pattern = ".*"\nlabels = "a.labels"\n'
        'lanes = [{spec = "mmp"}]\n[[streams]]\nname = "b"\nlanes = [{spec = "mmp"}]\n'
    )
    config = read_config(path, {})
    pattern = re.compile(input_pattern(config, config.streams[0]))
    for topic in ("a.blocks", "a.rankings", "a.dead-letters", "a.scores", "b.blocks", "b.scores"):
        assert not pattern.match(topic), topic
    for topic in ("wire", "a.labels", "b.documents", "a.blocks2"):
        assert pattern.match(topic), topic


def test_labels_in_a_topic_of_their_own(broker: str, tmp_path: Path) -> None:
    """The log orders documents and labels; the rankings equal those of that one order."""
    documents = [orjson.loads(event) for event in open_source("synthetic:60,topics=12")]
    labels = f"labels-{time.time_ns()}"
    settings = (
        f'{SMALL}\nlabels = "{labels}"\n'
        'label_fields = {id = "article.id", topics = {path = "tags", separator = ";"}}'
    )
    with Streaming(broker, tmp_path, [LANE], settings=settings) as streaming:
        start(streaming)
        events, late = [], []
        for document in documents:
            article = {"id": document["id"], "text": "the whole article again"}
            late.append(
                orjson.dumps({"article": article, "tags": ";".join(document.pop("topics"))})
            )
            events.append(orjson.dumps(document))
        streaming.produce(events[:30])
        write(streaming, labels, [*late[:40], events[0]])  # also early labels, and a document
        streaming.produce(events[30:])
        write(streaming, labels, late[40:])
        streaming.wait_learned()
        assert eventually(lambda: committed(streaming).get((labels, 0)) == len(late) + 1)
        streaming.wait_learned()
        published = streaming.rankings(len(events))
        (letter,) = streaming.read(streaming.stream.dead_letters, 1)
        end(streaming)
        assert_exact(streaming, published, events)
        told = dict(letter.headers)
        assert (told["reason"], told["topic"]) == (b"bad_id", labels.encode())
        assert b"`article.id`" in told["detail"]
        assert streaming.undisturbed()[0].rounds == len(documents)


@pytest.mark.parametrize("where", ["earliest", "latest", "time"])
def test_where_a_stream_begins(where: str, broker: str, tmp_path: Path) -> None:
    """Documents before the start are not read; a partition that is added later is read whole."""
    events = list(open_source("synthetic:50,topics=12"))
    with Streaming(broker, tmp_path, [LANE], partitions=2) as streaming:
        streaming.produce(events[:20])
        time.sleep(1.1)
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        time.sleep(0.1)
        if where == "time":
            streaming.produce(events[20:40])
        streaming.settings = f'{SMALL}\nstart = "{moment if where == "time" else where}"'
        streaming.configure([LANE])
        start(streaming)
        if where != "time":
            assert eventually(lambda: len(committed(streaming)) == 2, 60), streaming.diagnosis()
            streaming.produce(events[20:40])
        admin = KafkaAdminClient(**connection_options(streaming.config.kafka))
        admin.create_partitions({streaming.documents: 3})
        admin.close()
        streaming.produce(events[40:], partitions=[2])
        wanted = events if where == "earliest" else events[20:]
        assert len(streaming.rankings(len(wanted))) == len(wanted), streaming.diagnosis()
        streaming.wait_learned()
        published = streaming.rankings(len(wanted))
        end(streaming)
        assert_exact(streaming, published, wanted)


def test_an_offset_that_was_set_by_hand_begins_a_new_log(broker: str, tmp_path: Path) -> None:
    events = list(open_source("synthetic:40,topics=12"))
    with Streaming(broker, tmp_path, [LANE]) as streaming:
        streaming.produce(events[:20])
        place = TopicPartition(streaming.documents, 0)
        admin = KafkaAdminClient(**connection_options(streaming.config.kafka))
        group = tokenizer_consumer_group(streaming.name)
        admin.alter_group_offsets(group, offsets_to_commit({place: 15}))
        start(streaming)
        streaming.produce(events[20:])
        streaming.wait_learned()
        published = streaming.rankings(25)
        end(streaming)
        assert_exact(streaming, published, events[15:])
        admin.close()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('start = "yesterday"', "expected earliest, latest, or a time with zone"),
        ('start = "2026-03-01T09:30:00"', "expected earliest, latest, or a time with zone"),
        ('documents_pattern = "wire("', "is no regular expression"),
        ("documents = []", "name at least one Kafka topic"),
        ('documents = ["a", "a"]', "must be different Kafka topics"),
        ('labels = "s.documents"', "must be different Kafka topics"),
        ('label_fields = {id = "x"}', "no topic of labels; write labels = ..."),
        ('labels = "l"\nlabel_fields = {text = "x"}', "label_fields.text: of a label only id"),
        ('labels = "l"\nlabel_fields = {topics = "a..b"}', "label_fields.topics: "),
    ],
)
def test_bad_settings_are_refused_with_what_to_write(
    line: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "wirerank.toml"
    path.write_text(f'[[streams]]\nname = "s"\n{line}\nlanes = [{{spec = "mmp"}}]\n')
    with pytest.raises(ConfigError, match=message):
        read_config(path, {})


def test_a_log_that_was_deleted_is_noticed_without_documents(broker: str, tmp_path: Path) -> None:
    """What the notes of the commits say about the log counts, not the offsets."""
    with Streaming(broker, tmp_path, [LANE]) as streaming:
        streaming.start("tokenize-0")
        write_transactions(streaming, list(open_source("synthetic:10,topics=12")))
        assert eventually(lambda: committed(streaming) == {(streaming.documents, 0): 22})
        assert streaming.end("tokenize-0") == 0
        admin = KafkaAdminClient(**connection_options(streaming.config.kafka))
        admin.delete_topics([streaming.stream.blocks])
        time.sleep(1)
        admin.close()
        streaming.start("tokenize-0")
        assert streaming.code("tokenize-0") == NEEDS_AN_OPERATOR
        assert "had all documents up to offset 21" in streaming.log("tokenize-0")
