"""The newest records of Kafka topics, read without a group: nothing is joined or committed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from consumers.kafka.client_types import Message, TopicPartition
from consumers.kafka.clients import Timeouts, new_consumer
from consumers.settings import KafkaSettings

POLL_MS = 500
WAIT_SECONDS = Timeouts().request_ms / 1000


class MissingTopicError(Exception):
    """A topic that is to be read does not exist."""


def matching_topics(settings: KafkaSettings, pattern: str) -> list[str]:
    """The topics of the broker whose whole name matches a pattern, sorted."""
    consumer: Any = new_consumer(settings)
    try:
        return sorted(topic for topic in consumer.topics() if re.fullmatch(pattern, topic))
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)


def newest_records(settings: KafkaSettings, topics: Sequence[str], most: int) -> Iterator[Message]:
    """The last records of all partitions of topics, about `most` in all, partition by partition."""
    consumer: Any = new_consumer(settings, undecodable_batches=True)
    try:
        places = partitions_of(consumer, topics)
        begins, ends = consumer.beginning_offsets(places), consumer.end_offsets(places)
        share = max(1, most // max(1, len(places)))
        for place in places:
            start = max(begins[place], ends[place] - share)
            yield from records_between(consumer, place, start, ends[place])
    finally:
        consumer.close(autocommit=False, timeout_ms=1000)


def partitions_of(consumer: Any, topics: Sequence[str]) -> list[TopicPartition]:  # noqa: ANN401
    """All partitions of topics; raises `MissingTopicError` for a topic that does not exist."""
    places = []
    for topic in topics:
        numbers = consumer.partitions_for_topic(topic)
        if not numbers:
            raise MissingTopicError(
                f"there is no Kafka topic {topic}; check the name, or create it"
            )
        places += [TopicPartition(topic, number) for number in sorted(numbers)]
    return places


def records_between(
    consumer: Any,  # noqa: ANN401 - kafka-python's
    place: TopicPartition,
    start: int,
    end: int,
) -> Iterator[Message]:
    """The records of a partition between two offsets; ends if none arrive for long."""
    if start >= end:
        return
    consumer.assign([place])
    consumer.seek(place, start)
    until = time.monotonic() + WAIT_SECONDS
    while consumer.position(place) < end and time.monotonic() < until:
        for message in consumer.poll(POLL_MS).get(place, []):
            until = time.monotonic() + WAIT_SECONDS
            if message.offset < end:
                yield message
