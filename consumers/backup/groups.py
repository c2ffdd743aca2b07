"""The consumer groups of a stream that is to be restored."""

from __future__ import annotations

from typing import Any

from consumers.backup.errors import BackupError
from consumers.backup.topics import DocumentOffsets
from consumers.kafka.client_types import TopicPartition
from consumers.kafka.clients import Timeouts, group_client_ids, new_consumer
from consumers.kafka.commit_note import CommitNote
from consumers.kafka.offsets import committed_offset, offsets_to_commit
from consumers.kafka_names import lane_consumer_group
from consumers.settings import KafkaSettings
from consumers.stream_settings import StreamSettings


def refuse_members(settings: KafkaSettings, group: str) -> None:
    """Raise `BackupError` if tokenizers of the stream run."""
    members = group_client_ids(settings, group)
    if members:
        raise BackupError(
            f"tokenizers of the stream run: {', '.join(sorted(members))}. Stop all workers of the "
            "stream first; a tokenizer that was killed counts for another 6 seconds."
        )


def stale_lane_groups(settings: KafkaSettings, stream: StreamSettings) -> list[str]:
    """The groups of lanes that have an offset in a log that is gone."""
    lanes = [lane.parsed.name for lane in stream.lanes if lane.publish]
    groups = [lane_consumer_group(stream.name, lane) for lane in lanes]
    source = TopicPartition(stream.blocks, 0)
    return [group for group in groups if committed_offset(settings, group, source).offset]


def reset_lanes(settings: KafkaSettings, stream: StreamSettings) -> None:
    """Let lanes publish from the beginning of the new log on."""
    for group in stale_lane_groups(settings, stream):
        commit(settings, group, offsets_to_commit({TopicPartition(stream.blocks, 0): 0}))


def commit_starts(settings: KafkaSettings, group: str, starts: DocumentOffsets) -> None:
    """Set where the tokenizers begin, for all partitions in one request.

    The notes say nothing of the log, because nothing is in the new one.
    """
    notes = {p: CommitNote(start.topic_id).encode() for p, start in starts.items()}
    offsets = {partition: start.offset for partition, start in starts.items()}
    commit(settings, group, offsets_to_commit(offsets, notes))


def commit(settings: KafkaSettings, group: str, offsets: dict[Any, Any]) -> None:
    """Commit offsets of a group that has no members."""
    consumer: Any = new_consumer(settings, group_id=group)
    try:
        consumer.commit(offsets, timeout_ms=Timeouts().request_ms)
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)
