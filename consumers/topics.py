"""Kafka topics of a stream: made with sensible settings if they are missing, checked if not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.admin import NewTopic
from kafka.errors import TopicAlreadyExistsError

from consumers.clients import MAX_RECORD_BYTES, Admin, new_admin
from consumers.config import KafkaSettings, StreamSettings

FOR_EVER = "-1"
PLAYED_PARTITIONS = 4


class TopicError(Exception):
    """A topic is not as it must be; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A topic as it is wanted."""

    name: str
    partitions: int
    exactly: bool = False  # another number of partitions is an error
    options: dict[str, str] = field(default_factory=dict)


def plans(stream: StreamSettings) -> list[Plan]:
    """The topics of a stream."""
    largest = {"max.message.bytes": str(MAX_RECORD_BYTES)}
    return [
        Plan(stream.documents, stream.partitions, options=largest),
        # The log of rounds: one order for everybody, and nothing of it is ever dropped.
        Plan(
            stream.blocks,
            1,
            True,
            {**largest, "retention.ms": FOR_EVER, "retention.bytes": FOR_EVER},
        ),
        Plan(stream.rankings, stream.partitions, options=largest),
        Plan(stream.dead_letters, 1, options={**largest, "retention.ms": FOR_EVER}),
    ]


def documents_plan(topic: str) -> Plan:
    """A topic for a source that is played: history, which no age may delete."""
    options = {
        "max.message.bytes": str(MAX_RECORD_BYTES),
        "retention.ms": FOR_EVER,
        "retention.bytes": FOR_EVER,
    }
    return Plan(topic, PLAYED_PARTITIONS, options=options)


def ensure_topics(settings: KafkaSettings, stream: StreamSettings) -> list[str]:
    """Make the missing topics of a stream and check the others; returns the names of new ones."""
    admin = new_admin(settings)
    try:
        return ensure(admin, plans(stream), settings.replication_factor)
    finally:
        admin.close()


def ensure(admin: Admin, wanted: Sequence[Plan], replication: int) -> list[str]:
    """Make what is missing and check the others; returns the names of new topics."""
    there = partitions_by_topic(admin)
    made = []
    for plan in wanted:
        if plan.name in there:
            found = there[plan.name]
            if plan.exactly and found != plan.partitions:
                raise TopicError(
                    f"{plan.name} has {found} partitions, but must have {plan.partitions}: the "
                    "log is one order for everybody. Name another topic, or delete this one."
                )
            continue
        try:
            admin.create_topics([new_topic(plan, replication)])
        except TopicAlreadyExistsError:
            continue  # another worker was faster
        made.append(plan.name)
    if made:
        admin.wait_for_topics(made)
    return made


def partitions_by_topic(admin: Admin) -> dict[str, int]:
    """How many partitions each topic of the broker has."""
    return {topic["name"]: len(topic["partitions"]) for topic in admin.describe_topics()}


def topic_identity(settings: KafkaSettings, topic: str) -> str:
    """What tells a topic from another one that had its name before; empty on old brokers."""
    admin = new_admin(settings)
    try:
        (found,) = admin.describe_topics([topic])
        return str(found.get("topic_id") or "")
    finally:
        admin.close()


def new_topic(plan: Plan, replication: int) -> Any:  # noqa: ANN401 - kafka-python has no types
    """The plan as kafka-python takes it."""
    return NewTopic(plan.name, plan.partitions, replication, topic_configs=plan.options)
