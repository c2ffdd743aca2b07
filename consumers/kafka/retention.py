"""For how long the Kafka topics of a stream keep their records, and whether that is long enough."""

from __future__ import annotations

from typing import Any

from consumers.kafka.clients import new_admin
from consumers.kafka.topics import TopicPlan, partitions_by_topic, topic_plans, topic_settings
from consumers.settings import KafkaSettings
from consumers.stream_settings import StreamSettings

DAY_MS = 86_400_000


def describe_retention(settings: KafkaSettings, stream: StreamSettings) -> list[str]:
    """One line per Kafka topic of the stream that exists, and one for each problem."""
    admin = new_admin(settings)
    lines = []
    try:
        existing = partitions_by_topic(admin)
        for plan in topic_plans(stream):
            if plan.name not in existing:
                continue
            configs = topic_settings(admin, plan.name)
            if configs is None:
                lines.append(f"retention: {plan.name}: no right to read its settings")
                continue
            lines.append(f"retention: {plan.name} keeps records {kept(configs)}")
            lines += [f"  warning: {problem}" for problem in problems(plan, configs)]
    finally:
        admin.close()
    return lines


def kept(configs: dict[str, Any]) -> str:
    """How long, and how much, a topic keeps.

    >>> kept({"retention.ms": {"value": "604800000"}, "retention.bytes": {"value": "-1"}})
    'for 7 days'
    """
    milliseconds, size = (int(configs[name]["value"]) for name in LIMITS)
    time = "for ever" if milliseconds < 0 else f"for {milliseconds / DAY_MS:g} days"
    return time if size < 0 else f"{time}, up to {size:,} bytes per partition"


LIMITS = ("retention.ms", "retention.bytes")


def problems(plan: TopicPlan, configs: dict[str, Any]) -> list[str]:
    """What is wrong with the retention of a topic."""
    found = []
    limits = [name for name in LIMITS if configs[name]["value"] != "-1"]
    if plan.keep_forever and limits:
        found.append(
            f"{' and '.join(limits)} may delete records of the log that lanes still need: set "
            "them to -1, and let log.keep decide what is trimmed"
        )
    policy = configs["cleanup.policy"]["value"]
    if plan.no_compaction and policy != "delete":
        found.append(
            f"cleanup.policy is {policy}, which deletes records between others, and workers "
            "refuse that: set it to delete"
        )
    wanted, actual = plan.options.get("retention.ms"), configs["retention.ms"]["value"]
    if not plan.keep_forever and wanted is not None and wanted != actual:
        found.append(
            f"retention.ms is {actual}, but the configuration says {wanted}, which holds only for "
            "a topic that workers create: change one of the two"
        )
    return found
