"""Deleted topics and offsets: an error that says what to do, never a guess."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.admin import KafkaAdminClient

from consumers.kafka.clients import connection_options
from consumers.kafka.commit_note import CommitNote
from consumers.kafka.offsets import offsets_to_commit
from consumers.kafka.topics import TopicWatch, ensure_topics
from consumers.kafka_names import tokenizer_consumer_group
from consumers.settings import KafkaSettings
from consumers.supervisor import NEEDS_AN_OPERATOR
from pipeline.corpora import open_source
from tests.support.kafka_stream import Streaming, eventually

LANE = "mmp:loss=1"


@pytest.fixture
def streaming(broker: str, tmp_path: Path) -> Any:  # noqa: ANN401
    """A stream that has ranked 100 documents; its workers are stopped."""
    with Streaming(broker, tmp_path, [LANE]) as made:
        run(made, list(open_source("synthetic:100,topics=12")), 100)
        yield made


def run(streaming: Streaming, events: list[bytes], wanted: int) -> list[bytes | None]:
    """Start the workers, write documents, wait for rankings, end the workers."""
    for name in ("tokenize-0", "learn"):
        streaming.start(name)
    streaming.produce(events)
    published = [message.value for message in streaming.rankings(wanted)]
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)
    return published


def set_going(streaming: Streaming) -> None:
    """Start the workers, and wait until both have done some work."""
    for name in ("tokenize-0", "learn"):
        streaming.start(name)
    streaming.produce(list(open_source("synthetic:10,topics=12,seed=3")))
    published = len(streaming.rankings(110))
    assert published == 110, streaming.diagnosis()


def admin_of(streaming: Streaming) -> Any:  # noqa: ANN401
    return KafkaAdminClient(**connection_options(streaming.config.kafka))


def cut(streaming: Streaming, topic: str) -> None:
    """Delete all records of a topic, as retention does."""
    admin = admin_of(streaming)
    where = TopicPartition(topic, 0)
    admin.delete_records({where: admin.list_partition_offsets({where: -1})[where].offset})
    admin.close()


def delete(streaming: Streaming, topic: str) -> None:
    admin = admin_of(streaming)
    admin.delete_topics([topic])
    assert eventually(lambda: topic not in admin.list_topics())
    admin.close()


def test_documents_that_were_deleted_unread(streaming: Streaming) -> None:
    """Retention deleted documents before the tokenizers had read them."""
    streaming.produce(open_source("synthetic:50,topics=12,seed=2"))
    cut(streaming, streaming.documents)
    streaming.start("tokenize-0")
    assert streaming.code("tokenize-0") == NEEDS_AN_OPERATOR
    message = streaming.log("tokenize-0")
    assert "were deleted by the retention of their Kafka topic before they" in message
    assert f"set the group wirerank.{streaming.name}.tokenize to an offset that exists" in message


def test_documents_that_were_deleted_after_they_were_read(streaming: Streaming) -> None:
    """Documents that were read may be deleted."""
    cut(streaming, streaming.documents)
    results = run(streaming, list(open_source("synthetic:50,topics=12,seed=2")), 150)
    assert results == streaming.undisturbed()[1]


def test_a_log_that_was_cut_after_it_was_read(streaming: Streaming) -> None:
    """A lane with a snapshot can continue; a new lane begins where a snapshot was taken."""
    cut(streaming, streaming.stream.blocks)
    results = run(streaming, list(open_source("synthetic:50,topics=12,seed=2")), 150)
    assert len(results) == len(set(results)) == 150
    streaming.configure([LANE, "perceptron"])
    results = run(streaming, list(open_source("synthetic:50,topics=12,seed=3")), 250)
    assert len(results) == len(set(results)) >= 250
    assert "perceptron: added after records of the log were trimmed" in streaming.log("learn")
    folder = streaming.config.snapshots.folder
    folder.rename(folder.with_name("lost"))
    streaming.start("learn")
    assert streaming.code("learn") == NEEDS_AN_OPERATOR
    assert f"no usable snapshot of {LANE}" in streaming.log("learn")


def test_a_log_that_was_cut_before_it_was_read(streaming: Streaming) -> None:
    streaming.start("tokenize-0")
    before = len(streaming.read(streaming.stream.blocks, 1))
    streaming.produce(open_source("synthetic:50,topics=12,seed=2"))
    assert len(streaming.read(streaming.stream.blocks, 1, before + 1)) > before
    assert streaming.end("tokenize-0") == 0
    cut(streaming, streaming.stream.blocks)
    streaming.start("learn")
    assert streaming.code("learn") == NEEDS_AN_OPERATOR
    assert "the log was deleted or cut since it was last read" in streaming.log("learn")


def test_a_log_that_was_deleted(streaming: Streaming) -> None:
    """A new topic of the same name is another log, and the snapshots do not belong to it."""
    delete(streaming, streaming.stream.blocks)
    streaming.start("learn")
    assert streaming.code("learn") == NEEDS_AN_OPERATOR
    assert "of another log than" in streaming.log("learn")
    assert "Move" in streaming.log("learn")


def test_a_log_that_is_deleted_while_workers_run(streaming: Streaming) -> None:
    set_going(streaming)
    delete(streaming, streaming.stream.blocks)
    assert streaming.code("learn") == NEEDS_AN_OPERATOR
    assert "the log was deleted or cut since it was last read" in streaming.log("learn")
    streaming.produce(list(open_source("synthetic:10,topics=12,seed=4")))
    assert streaming.code("tokenize-0") == NEEDS_AN_OPERATOR
    assert "the log was deleted. Restore it, or start over" in streaming.log("tokenize-0")


def test_documents_that_are_deleted_while_workers_run(streaming: Streaming) -> None:
    """The topic is created again; its documents count as new, although their offsets repeat."""
    set_going(streaming)
    delete(streaming, streaming.documents)
    created = f"created the missing Kafka topics {streaming.documents}"
    assert eventually(lambda: created in streaming.log("tokenize-0"), 40)
    streaming.produce(open_source("synthetic:50,topics=12,seed=2"))
    published = [message.value for message in streaming.rankings(160)]
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)
    assert published == streaming.undisturbed()[1]
    assert len(published) == 160


def test_documents_that_are_replaced_unnoticed(streaming: Streaming) -> None:
    """While the tokenizer sleeps, the topic is created again, and grows beyond the old offsets."""
    set_going(streaming)
    streaming.wait_learned()
    process = streaming.processes["tokenize-0"]
    process.send_signal(signal.SIGSTOP)
    delete(streaming, streaming.documents)
    ensure_topics(streaming.config.kafka, streaming.stream)
    streaming.produce(open_source("synthetic:300,topics=12,seed=2"))
    process.send_signal(signal.SIGCONT)
    published = [message.value for message in streaming.rankings(410)]
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)
    assert published == streaming.undisturbed()[1]
    assert len(published) == 410
    assert f"{streaming.documents} was deleted" in streaming.log("tokenize-0")


@pytest.mark.parametrize("offset", [80, 500])
def test_an_offset_of_a_topic_that_was_replaced(offset: int, streaming: Streaming) -> None:
    """A tokenizer committed it after the topic was replaced; it means nothing in the new one."""
    delete(streaming, streaming.documents)
    ensure_topics(streaming.config.kafka, streaming.stream)
    streaming.produce(open_source("synthetic:100,topics=12,seed=2"))
    where = TopicPartition(streaming.documents, 0)
    stale = offsets_to_commit({where: offset}, {where: CommitNote("another topic").encode()})
    admin = admin_of(streaming)
    admin.alter_group_offsets(tokenizer_consumer_group(streaming.name), stale)
    admin.close()
    published = run(streaming, [], 200)
    assert published == streaming.undisturbed()[1]
    assert len(published) == 200
    assert "was deleted and created again" in streaming.log("tokenize-0")


def test_a_topic_that_is_deleted_before_it_is_watched(broker: str) -> None:
    """Otherwise a worker that has just seen the topic would wait for ever."""
    assert TopicWatch(KafkaSettings(bootstrap=broker), "never.made").is_gone(at_once=True)


def test_rankings_that_are_deleted_while_workers_run(streaming: Streaming) -> None:
    """The topic is created again, and gets the rankings from then on."""
    set_going(streaming)
    delete(streaming, streaming.stream.rankings)
    streaming.produce(open_source("synthetic:50,topics=12,seed=2"))
    created = f"created the missing Kafka topics {streaming.stream.rankings}"
    assert eventually(lambda: created in streaming.log("learn"), 90), streaming.log("learn")
    published = [message.value for message in streaming.rankings(50)]
    for name in ("tokenize-0", "learn"):
        assert streaming.end(name) == 0, streaming.log(name)
    assert published == streaming.undisturbed()[1][110:]
