"""Offsets that consumer groups have committed: asked from the broker, and made ready to commit.

Offsets are committed in two places: by `consumers.tokenizer.document_reader`, after the broker has
the blocks, and by `consumers.learner.transactions`, in one transaction with the rankings.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka.admin import OffsetSpec
from kafka.errors import CoordinatorNotAvailableError
from kafka.structs import OffsetAndMetadata

from consumers.kafka.client_types import Admin, TopicPartition
from consumers.kafka.clients import Timeouts, new_admin, new_consumer
from consumers.settings import KafkaSettings

# Ends the note of an offset that means nothing: see `consumers.learner.lane_owner`.
NO_OFFSET = " (claimed without an offset)"

GroupOffsets = dict[str, dict[Any, int]]  # by consumer group and partition


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """The committed offset of a group in a partition; None if it has committed none.

    The note is the text that was committed with the offset.
    """

    offset: int | None
    note: str = ""


def published_offset(committed: CommittedOffset) -> int | None:
    """How far a lane has published, by what is committed; None if that is not known."""
    return None if committed.note.endswith(NO_OFFSET) else committed.offset


def offsets_to_commit(
    offsets: Mapping[Any, int], notes: Mapping[Any, str] | None = None
) -> dict[Any, Any]:
    """Offsets by partition, each perhaps with a note, in the form that kafka-python commits."""
    given = notes or {}
    return {
        partition: OffsetAndMetadata(offset, given.get(partition, ""), -1)
        for partition, offset in offsets.items()
    }


def committed_offset(
    settings: KafkaSettings, group: str, partition: TopicPartition
) -> CommittedOffset:
    """The committed offset of a group in a partition.

    If a transaction is under way for the group, this waits until it has ended.
    """
    consumer: Any = new_consumer(settings, group_id=group)
    try:
        committed = consumer.committed(partition, metadata=True, timeout_ms=Timeouts().request_ms)
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)
    if committed is None:
        return CommittedOffset(None)
    return CommittedOffset(committed.offset, committed.metadata or "")


def committed_offsets(settings: KafkaSettings, group: str) -> dict[Any, Any]:
    """All committed offsets of a group, by partition, with their notes.

    A new broker needs a moment until the group has a coordinator.
    """
    admin = new_admin(settings)
    until = time.monotonic() + Timeouts().request_ms / 1000
    try:
        while True:
            try:
                committed: dict[Any, Any] = admin.list_group_offsets([group])[group]
                return {place: found for place, found in committed.items() if found.offset >= 0}
            except CoordinatorNotAvailableError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)
    finally:
        admin.close()


def group_offsets(admin: Admin, prefix: str) -> GroupOffsets:
    """The committed offsets of all groups whose name begins with `prefix`."""
    names = [group["group_id"] for group in admin.list_groups()]
    wanted = [name for name in names if name.startswith(prefix)]
    if not wanted:
        return {}
    return {
        group: {partition: at.offset for partition, at in committed.items() if at.offset >= 0}
        for group, committed in admin.list_group_offsets(wanted).items()
    }


def end_offset(admin: Admin, partition: TopicPartition) -> int:
    """The offset behind the last record of a partition."""
    end: int = admin.list_partition_offsets({partition: OffsetSpec.LATEST})[partition].offset
    return end
