"""The Kafka topics of a stream that is to be restored: documents are there, the rest is empty."""

from __future__ import annotations

from typing import Any, NamedTuple

from consumers.backup.errors import BackupError
from consumers.kafka.client_types import TopicPartition
from consumers.kafka.clients import new_admin, new_consumer
from consumers.kafka.topics import described_identity, partitions_by_topic
from consumers.settings import KafkaSettings
from consumers.stream_settings import StreamSettings
from pipeline.models.backup import BackupPlace


class Start(NamedTuple):
    """Where the tokenizers begin with a partition, and the id of its Kafka topic."""

    offset: int
    topic_id: str


DocumentOffsets = dict[Any, Start]  # by partition


def check_documents(
    settings: KafkaSettings, stream: StreamSettings, place: BackupPlace
) -> DocumentOffsets:
    """Where tokenizers begin; raises `BackupError` if the documents from there on are not there."""
    identities = topic_identities(settings, {entry[0] for entry in place.starts})
    wanted: DocumentOffsets = {}
    replaced = dict[str, str]()
    for topic, identity, partition, offset in place.starts:
        if identity == identities[topic]:
            wanted[TopicPartition(topic, partition)] = Start(offset, identity)
        else:
            replaced[topic] = "was deleted and created again" if identities[topic] else "is missing"
    for topic, problem in replaced.items():
        # A topic that had been replaced before the backup has entries of both.
        if not any(partition.topic == topic for partition in wanted):
            raise BackupError(
                f"{topic} {problem}, so the offsets of the backup mean nothing in it. Restore the "
                "Kafka topic itself first; or begin another stream, with a name of its own and "
                f"the backup as `initial`, to go on with what {stream.name} had learned."
            )
    check_bounds(settings, wanted)
    return wanted


def topic_identities(settings: KafkaSettings, topics: set[str]) -> dict[str, str]:
    """The ids of topics; empty for one that is missing."""
    admin = new_admin(settings)
    try:
        return {topic: described_identity(admin, topic) for topic in sorted(topics)}
    finally:
        admin.close()


def check_bounds(settings: KafkaSettings, starts: DocumentOffsets) -> None:
    """Raise `BackupError` if documents that follow the backup were deleted."""
    consumer = new_consumer(settings)
    try:
        first = consumer.beginning_offsets(list(starts)) if starts else {}
        end = consumer.end_offsets(list(starts)) if starts else {}
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)
    for partition, start in starts.items():
        name = f"{partition.topic}[{partition.partition}]"
        if start.offset < first[partition]:
            raise BackupError(
                f"{name} begins at offset {first[partition]}, but the backup ends at offset "
                f"{start.offset}: the documents between were deleted (retention of the Kafka "
                "topic). Use a newer backup. Without one, the documents between are lost: begin "
                "another stream, with a name of its own and the backup as `initial`."
            )
        if start.offset > end[partition]:
            raise BackupError(
                f"{name} ends at offset {end[partition]}, but the backup has read up to "
                f"{start.offset}: the Kafka topic has lost its last documents. Use an older backup."
            )


def record_count(settings: KafkaSettings, topic: str) -> int:
    """About how many records a topic has; 0 if it does not exist."""
    admin = new_admin(settings)
    try:
        partitions = partitions_by_topic(admin).get(topic, 0)
    finally:
        admin.close()
    places = [TopicPartition(topic, number) for number in range(partitions)]
    if not places:
        return 0
    consumer = new_consumer(settings)
    try:
        first, end = consumer.beginning_offsets(places), consumer.end_offsets(places)
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)
    return sum(end[place] - first[place] for place in places)
