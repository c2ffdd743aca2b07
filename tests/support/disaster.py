"""Loses what a stream has: Kafka topics, consumer groups, snapshots."""

from __future__ import annotations

import shutil
from typing import Any

from kafka.errors import GroupIdNotFoundError, KafkaError, UnknownTopicOrPartitionError

from consumers.kafka.clients import group_client_ids, new_admin
from consumers.kafka.topics import described_identity
from consumers.kafka_names import lane_consumer_group, tokenizer_consumer_group
from tests.support.kafka_stream import Streaming, eventually


def kill_all(streaming: Streaming) -> None:
    """kill -9 of all workers."""
    for name in list(streaming.processes):
        streaming.kill(name)


def lose_snapshots(streaming: Streaming) -> None:
    shutil.rmtree(streaming.config.snapshots.folder, ignore_errors=True)


def lose_topics(streaming: Streaming, *topics: str) -> None:
    """Delete Kafka topics, and wait until they are gone."""
    admin: Any = new_admin(streaming.config.kafka)
    try:
        for topic in topics:
            try:
                admin.delete_topics([topic])
            except UnknownTopicOrPartitionError:
                continue
        assert eventually(lambda: not any(described_identity(admin, topic) for topic in topics))
    finally:
        admin.close()


def lose_groups(streaming: Streaming) -> None:
    """Delete the consumer groups of a stream; members that were killed must have left first."""
    tokenizers = tokenizer_consumer_group(streaming.name)
    assert eventually(lambda: not group_client_ids(streaming.config.kafka, tokenizers))
    lanes = [
        lane_consumer_group(streaming.name, lane.parsed.name) for lane in streaming.stream.lanes
    ]
    admin: Any = new_admin(streaming.config.kafka)

    def deleted(group: str) -> bool:
        try:
            admin.delete_groups([group])
        except GroupIdNotFoundError:
            return True
        except KafkaError:
            return False  # a transaction of a killed worker may be open
        return True

    try:
        for group in (tokenizers, *lanes):
            assert eventually(lambda: deleted(group)), group  # noqa: B023
    finally:
        admin.close()
