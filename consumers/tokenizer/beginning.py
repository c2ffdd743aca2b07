"""Where a stream begins to read its topics, before its consumer group has committed any offset.

`start` holds for the partitions that exist when the stream begins. All of them are decided at once
and committed, so that it does not matter which tokenizer reads which. Partitions and topics that
are added later are read from their beginning: nothing that is written to them may be missed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from consumers.kafka.client_types import GroupConsumer, TopicPartition
from consumers.kafka.clients import Timeouts
from consumers.stream_settings import EARLIEST, LATEST, since_epoch_ms

log = logging.getLogger(__name__)


def first_offsets(
    consumer: GroupConsumer, partitions: Sequence[TopicPartition], start: str
) -> dict[Any, int]:
    """The offset of each partition at which reading starts: `earliest`, `latest` or a time."""
    wait = Timeouts().request_ms
    if start == EARLIEST:
        return consumer.beginning_offsets(partitions)
    ends = consumer.end_offsets(partitions)
    if start != LATEST:
        times = dict.fromkeys(partitions, since_epoch_ms(start))
        for partition, found in consumer.offsets_for_times(times, timeout_ms=wait).items():
            ends[partition] = ends[partition] if found is None else found.offset
    log.info("reading begins at %s", describe_offsets(ends))
    return ends


def describe_offsets(offsets: dict[Any, int]) -> str:
    """Offsets of partitions, for the log; not more than a few.

    >>> describe_offsets({TopicPartition("wire", 1): 7})
    'wire[1] 7'
    """
    named = [f"{p.topic}[{p.partition}] {offset}" for p, offset in offsets.items()]
    more = f" and {len(named) - 10} more" if len(named) > 10 else ""
    return ", ".join(named[:10]) + more
