"""Kafka topics of a stream: made with sensible settings if they are missing, checked if not."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import KafkaError, TopicAlreadyExistsError, TopicAuthorizationFailedError

from consumers.config import KafkaSettings, StreamSettings
from consumers.kafka.batch_encoder import BATCH_BYTES
from consumers.kafka.clients import MAX_RECORD_BYTES, PART_BYTES, Admin, new_admin
from consumers.kafka.security import RefusedError

FOR_EVER = "-1"
# Scores are needed as long as a shard may start from a snapshot older than they are. Snapshots are
# minutes old, unless a shard was away: this is how long it may be, a week with a weekend in it.
SCORES_DAYS = 7
WATCH_SECONDS = 10.0
PLAYED_PARTITIONS = 4

log = logging.getLogger(__name__)


class TopicError(Exception):
    """A topic is not as it must be; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A topic as it is wanted."""

    name: str
    partitions: int
    exactly: bool = False  # another number of partitions is an error
    least_bytes: int = 0  # what a record must be allowed to have
    for_ever: bool = False  # nothing of it may be dropped
    in_order: bool = False  # it is dropped from the beginning only, never from between
    options: dict[str, str] = field(default_factory=dict)


def plans(stream: StreamSettings) -> list[Plan]:
    """The topics of a stream."""
    largest = {"max.message.bytes": str(MAX_RECORD_BYTES)}
    return [
        Plan(stream.documents, stream.partitions, options=largest),
        # The log of rounds: one order for everybody, and nothing of it is ever dropped.
        Plan(
            stream.blocks,
            partitions=1,
            exactly=True,
            least_bytes=MAX_RECORD_BYTES,
            for_ever=True,
            in_order=True,
            options={**largest, "retention.ms": FOR_EVER, "retention.bytes": FOR_EVER},
        ),
        Plan(stream.rankings, stream.partitions, least_bytes=2 * BATCH_BYTES, options=largest),
        Plan(stream.dead_letters, 1, options={**largest, "retention.ms": FOR_EVER}),
        *([scores_plan(stream.scores)] if stream.divided_lanes else []),
    ]


def documents_plan(topic: str) -> Plan:
    """A topic for a source that is played: history, which no age may delete."""
    options = {
        "max.message.bytes": str(MAX_RECORD_BYTES),
        "retention.ms": FOR_EVER,
        "retention.bytes": FOR_EVER,
    }
    return Plan(topic, PLAYED_PARTITIONS, options=options)


def scores_plan(topic: str) -> Plan:
    """The topic through which the shards of lanes give each other their scores."""
    options = {
        "max.message.bytes": str(MAX_RECORD_BYTES),
        "cleanup.policy": "delete",
        "retention.ms": str(SCORES_DAYS * 24 * 3600 * 1000),
        "retention.bytes": FOR_EVER,
    }
    least = PART_BYTES + (64 << 10)  # key, header, and what the broker adds
    return Plan(topic, 1, exactly=True, least_bytes=least, in_order=True, options=options)


def ensure_scores_topic(settings: KafkaSettings, topic: str) -> list[str]:
    """Make the topic for the scores of shards if it is missing, and check it if not."""
    admin = new_admin(settings)
    try:
        return ensure(admin, [scores_plan(topic)], settings.replication_factor)
    finally:
        admin.close()


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
            check_topic(admin, plan, there[plan.name])
            continue
        try:
            admin.create_topics([new_topic(plan, replication)])
        except TopicAlreadyExistsError:
            continue  # another worker was faster
        made.append(plan.name)
    if made:
        admin.wait_for_topics(made)
        log.warning("made the topics %s, which were missing", ", ".join(made))
    return made


def partitions_by_topic(admin: Admin) -> dict[str, int]:
    """How many partitions each topic of the broker has."""
    return {topic["name"]: len(topic["partitions"]) for topic in admin.describe_topics()}


def check_topic(admin: Admin, plan: Plan, partitions: int) -> None:
    """Refuse a topic that would sooner or later stop the work."""
    if plan.exactly and partitions != plan.partitions:
        raise TopicError(
            f"{plan.name} has {partitions} partitions, but must have {plan.partitions}: it is "
            "one order for everybody. Name another topic, or delete this one."
        )
    if plan.least_bytes == 0 and not plan.in_order:
        return
    resource = ConfigResource(ConfigResourceType.TOPIC, plan.name)
    try:
        found = admin.describe_configs([resource], config_filter="all")["topic"][plan.name]
    except TopicAuthorizationFailedError:
        log.warning("the settings of %s may not be read, so they are not checked", plan.name)
        return
    largest, policy = found["max.message.bytes"]["value"], found["cleanup.policy"]["value"]
    if int(largest) < plan.least_bytes:
        raise TopicError(
            f"{plan.name} takes records of {largest} bytes at most, but must take "
            f"{plan.least_bytes}: set its max.message.bytes to {MAX_RECORD_BYTES}."
        )
    if plan.in_order and policy != "delete":
        retention = plan.options["retention.ms"]
        raise TopicError(
            f"{plan.name} has cleanup.policy {policy}, which drops records from between others: "
            f"set it to delete, with retention.ms {retention}."
        )
    limits = [name for name in ("retention.ms", "retention.bytes") if found[name]["value"] != "-1"]
    if plan.for_ever and limits:
        log.warning(
            "%s has a limit on %s: lanes that are added later cannot follow it from the beginning, "
            "and a worker that rests for long may find that it was cut",
            plan.name, " and ".join(limits),
        )  # fmt: skip


def topic_identity(settings: KafkaSettings, topic: str) -> str:
    """What tells a topic from another one that had its name before; empty if there is none."""
    admin = new_admin(settings)
    try:
        (found,) = admin.describe_topics([topic])
    finally:
        admin.close()
    return "" if found["error_code"] else str(found.get("topic_id") or "unknown")


class TopicWatch:
    """Notices that a topic was deleted, or deleted and made anew: a reader would wait for ever."""

    def __init__(self, settings: KafkaSettings, topic: str) -> None:
        self._settings = settings
        self._topic = topic
        self.identity = topic_identity(settings, topic)
        self._looked = time.monotonic()

    def gone(self, at_once: bool = False) -> bool:
        """Whether the topic is no longer the one it was, or was gone already when this was made.

        Asks the broker only now and then.
        """
        if not at_once and time.monotonic() - self._looked < WATCH_SECONDS:
            return False
        try:
            return topic_identity(self._settings, self._topic) != self.identity or not self.identity
        except RefusedError:
            raise
        except (KafkaError, OSError) as error:
            log.warning("waiting for the broker at %s: %s", self._settings.bootstrap, error)
            return False
        finally:
            self._looked = time.monotonic()


def new_topic(plan: Plan, replication: int) -> Any:  # noqa: ANN401 - kafka-python has no types
    """The plan as kafka-python takes it."""
    return NewTopic(plan.name, plan.partitions, replication, topic_configs=plan.options)
