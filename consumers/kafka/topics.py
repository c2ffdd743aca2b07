"""Creates the Kafka topics of a stream if they are missing, and checks those that exist."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import TopicAlreadyExistsError

from consumers.kafka.batch_encoder import BATCH_BYTES
from consumers.kafka.broker_outage import BrokerOutage
from consumers.kafka.client_types import Admin
from consumers.kafka.clients import MAX_RECORD_BYTES, PART_BYTES, new_admin
from consumers.kafka.errors import KafkaError, RefusedError, describe_error
from consumers.log_settings import RetentionSettings, retention_ms
from consumers.settings import KafkaSettings
from consumers.stream_settings import StreamSettings

FOREVER = "-1"
# The broker sets the time of each record, whatever the clocks of the workers say. Shards go by the
# times of the log, and a broker refuses records whose sender's clock is more than an hour ahead.
TIMESTAMP_TYPE = "message.timestamp.type"
BROKER_TIME = {TIMESTAMP_TYPE: "LogAppendTime"}
# A shard that starts from a snapshot reads the scores that were exchanged since. Snapshots are
# minutes old, unless the shard was stopped: it may be stopped for this long.
SCORES_RETENTION = RetentionSettings().scores
# A dead letter that does not fit is cut, but its reason and origin must fit.
MIN_DEAD_LETTER_BYTES = 64 << 10
WATCH_SECONDS = 10.0
SETTINGS_SECONDS = 1.0  # how long the settings of a topic are asked for
REPLAYED_PARTITIONS = 4

log = logging.getLogger(__name__)


class TopicError(Exception):
    """A Kafka topic has unsuitable settings; the message says what to do."""


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """The settings that a Kafka topic is created with, and those that are required of it."""

    name: str
    partitions: int
    exact_partitions: bool = False  # another number of partitions is an error
    min_record_bytes: int = 0  # the topic must accept records of this size
    keep_forever: bool = False  # no record may ever be deleted
    no_compaction: bool = False  # only its oldest records may be deleted
    options: dict[str, str] = field(default_factory=dict)


def topic_plans(stream: StreamSettings) -> list[TopicPlan]:
    """The plans of all Kafka topics of a stream."""
    largest = {"max.message.bytes": str(MAX_RECORD_BYTES)}
    ours = {**largest, **BROKER_TIME}
    return [
        *(TopicPlan(topic, stream.partitions, options=largest) for topic in stream.input_topics),
        # The log: one partition, hence one order for all learners. The broker must not delete any
        # record: `consumers.trimming` knows which ones are no longer needed.
        TopicPlan(
            stream.blocks,
            partitions=1,
            exact_partitions=True,
            min_record_bytes=MAX_RECORD_BYTES,
            keep_forever=True,
            no_compaction=True,
            options={**ours, "retention.ms": FOREVER, "retention.bytes": FOREVER},
        ),
        TopicPlan(
            stream.rankings,
            stream.partitions,
            min_record_bytes=2 * BATCH_BYTES,
            options={**ours, **retention_option(stream.retention.rankings)},
        ),
        TopicPlan(
            stream.dead_letters,
            1,
            min_record_bytes=MIN_DEAD_LETTER_BYTES,
            options={**ours, **retention_option(stream.retention.dead_letters)},
        ),
        *([scores_plan(stream.scores, stream.retention.scores)] if stream.divided_lanes else []),
    ]


def documents_plan(topic: str) -> TopicPlan:
    """A topic that a source is replayed into: old documents, which no retention may delete."""
    options = {
        "max.message.bytes": str(MAX_RECORD_BYTES),
        "retention.ms": FOREVER,
        "retention.bytes": FOREVER,
    }
    return TopicPlan(topic, REPLAYED_PARTITIONS, options=options)


def retention_option(setting: str) -> dict[str, str]:
    """The option of a new topic for how long it keeps records; none if the broker decides."""
    milliseconds = retention_ms(setting)
    return {} if milliseconds is None else {"retention.ms": str(milliseconds)}


def scores_plan(topic: str, retention: str = SCORES_RETENTION) -> TopicPlan:
    """The topic through which the shards of lanes exchange their scores."""
    options = {
        "max.message.bytes": str(MAX_RECORD_BYTES),
        **BROKER_TIME,
        "cleanup.policy": "delete",
        **retention_option(retention),
        "retention.bytes": FOREVER,
    }
    size = PART_BYTES + (64 << 10)  # one part with its key and the overhead of a batch
    return TopicPlan(
        topic, 1, exact_partitions=True, min_record_bytes=size, no_compaction=True, options=options
    )


def ensure_scores_topic(settings: KafkaSettings, topic: str) -> list[str]:
    """Create the topic for the scores of shards if it is missing; otherwise check it."""
    return ensure(settings, [scores_plan(topic)])


def ensure_topics(settings: KafkaSettings, stream: StreamSettings) -> list[str]:
    """Create the missing topics of a stream and check the others; returns the created names."""
    return ensure(settings, topic_plans(stream))


def ensure(settings: KafkaSettings, plans: Sequence[TopicPlan]) -> list[str]:
    """Create the missing topics, which is logged, and check the others."""
    admin = new_admin(settings)
    try:
        created = ensure_planned(admin, plans, settings.replication_factor)
    finally:
        admin.close()
    if created:
        log.warning("created the missing Kafka topics %s", ", ".join(created))
    return created


def ensure_planned(admin: Admin, plans: Sequence[TopicPlan], replication: int) -> list[str]:
    """Create the missing topics and check the others; returns the created names."""
    existing = partitions_by_topic(admin)
    created = []
    for plan in plans:
        if plan.name in existing:
            check_topic(admin, plan, existing[plan.name])
            continue
        try:
            admin.create_topics([new_topic(plan, replication)])
        except TopicAlreadyExistsError:
            continue  # another worker was faster
        created.append(plan.name)
    if created:
        admin.wait_for_topics(created)
    return created


def partitions_by_topic(admin: Admin) -> dict[str, int]:
    """The number of partitions of each topic on the broker."""
    return {topic["name"]: len(topic["partitions"]) for topic in admin.describe_topics()}


def check_topic(admin: Admin, plan: TopicPlan, partitions: int) -> None:
    """Raise `TopicError` for a topic that would sooner or later stop the workers."""
    if plan.exact_partitions and partitions != plan.partitions:
        raise TopicError(
            f"{plan.name} has {partitions} partitions, but must have {plan.partitions}, because "
            "all readers need the same order. Name another topic, or delete this one."
        )
    if plan.min_record_bytes == 0 and not plan.no_compaction:
        return
    configs = topic_settings(admin, plan.name)
    if configs is None:
        log.warning("no right to read the settings of %s, so they are not checked", plan.name)
        return
    largest, policy = configs["max.message.bytes"]["value"], configs["cleanup.policy"]["value"]
    if int(largest) < plan.min_record_bytes:
        raise TopicError(
            f"{plan.name} accepts records of at most {largest} bytes, but must accept "
            f"{plan.min_record_bytes}: set its max.message.bytes to {MAX_RECORD_BYTES}."
        )
    if plan.no_compaction and policy != "delete":
        retention = plan.options.get("retention.ms", "as you like")
        raise TopicError(
            f"{plan.name} has cleanup.policy {policy}, which deletes records between others: "
            f"set it to delete, with retention.ms {retention}."
        )
    if TIMESTAMP_TYPE in plan.options and configs[TIMESTAMP_TYPE]["value"] == "CreateTime":
        log.info(
            "%s has message.timestamp.type CreateTime: the time of its records is that of the "
            "workers' clocks, which must agree. Better set it to LogAppendTime", plan.name,
        )  # fmt: skip
    limits = [
        name for name in ("retention.ms", "retention.bytes") if configs[name]["value"] != "-1"
    ]
    if plan.keep_forever and limits:
        log.warning(
            "%s has a limit on %s: lanes that are added later cannot follow it from the beginning, "
            "and a worker that was stopped for long may find its next records deleted",
            plan.name, " and ".join(limits),
        )  # fmt: skip


def topic_settings(admin: Admin, topic: str) -> dict[str, Any] | None:
    """The settings of a topic; None if this client has no right to read them.

    The client hides errors: no right, and a broker that has not heard of a new topic yet, both give
    no settings. So it is asked again for a moment.
    """
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    until = time.monotonic() + SETTINGS_SECONDS
    while True:
        configs: dict[str, Any] = admin.describe_configs([resource], config_filter="all")
        settings: dict[str, Any] = configs["topic"][topic]
        if settings:
            return settings
        if time.monotonic() > until:
            return None
        time.sleep(0.1)


def record_limit(settings: KafkaSettings, topic: str) -> int | None:
    """The size of the largest record that a topic accepts; None if this client may not know it."""
    admin = new_admin(settings)
    try:
        configs = topic_settings(admin, topic)
    finally:
        admin.close()
    return None if configs is None else int(configs["max.message.bytes"]["value"])


def topic_identity(settings: KafkaSettings, topic: str) -> str:
    """The id that tells a topic from an earlier one of the same name; empty if it is missing."""
    admin = new_admin(settings)
    try:
        return described_identity(admin, topic)
    finally:
        admin.close()


def described_identity(admin: Admin, topic: str) -> str:
    """The id of a topic, asked through a client that is connected; empty if it is missing."""
    (description,) = admin.describe_topics([topic])
    return "" if description["error_code"] else str(description.get("topic_id") or "unknown")


class TopicWatch:
    """Notices that a topic was deleted or replaced by a new one; a reader would wait for ever."""

    def __init__(self, settings: KafkaSettings, topic: str) -> None:
        self._settings = settings
        self._topic = topic
        self._admin: Admin | None = None
        self.identity = self._ask()
        self._looked = time.monotonic()
        self._outage = BrokerOutage(settings.bootstrap)

    def is_gone(self, at_once: bool = False) -> bool:
        """Whether the topic was deleted or replaced since this watch began, or was missing then.

        Asks the broker only every few seconds, unless `at_once`. A broker that does not answer
        counts as one that still has the topic.
        """
        if not at_once and time.monotonic() - self._looked < WATCH_SECONDS:
            return False
        self.close()  # a new connection also notices that the broker now refuses this user
        try:
            return not self.is_current()
        except RefusedError:
            raise
        except (KafkaError, OSError) as error:
            self._outage.begin(describe_error(error))
            return False

    def is_current(self) -> bool:
        """Whether the topic is the one that it was when this watch began; asks the broker.

        What was read from the topic before this question was then read from that topic.
        """
        self._looked = time.monotonic()
        identity = self._ask()
        self._outage.end()
        return identity == self.identity and bool(identity)

    def _ask(self) -> str:
        """Ask the broker for the topic's id, through a connection that stays open."""
        try:
            if self._admin is None:
                self._admin = new_admin(self._settings)
            return described_identity(self._admin, self._topic)
        except (KafkaError, OSError):
            self.close()
            raise

    def close(self) -> None:
        """Disconnect; the next question connects again."""
        admin, self._admin = self._admin, None
        if admin is not None:
            admin.close()


def min_insync_replicas(replication: int) -> int:
    """How many replicas must have a record before it counts as written.

    With three replicas, two: one broker may fail, and a written record survives the next failure
    too. Two replicas cannot have both, so they keep working with one.

    >>> [min_insync_replicas(replication) for replication in (1, 2, 3, 5)]
    [1, 1, 2, 3]
    """
    return (replication + 1) // 2


def new_topic(plan: TopicPlan, replication: int) -> Any:  # noqa: ANN401 - kafka-python has no types
    """The plan in the form that kafka-python expects."""
    options = {"min.insync.replicas": str(min_insync_replicas(replication)), **plan.options}
    return NewTopic(plan.name, plan.partitions, replication, topic_configs=options)
