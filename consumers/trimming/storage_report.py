"""What a stream keeps on the broker, and what trimming its log would wait for."""

from __future__ import annotations

from consumers.kafka.log_reader import describe_log
from consumers.kafka.retention import describe_retention
from consumers.kafka.topics import topic_identity
from consumers.settings import Config
from consumers.stream_settings import StreamSettings
from consumers.trimming.trimmer import Trimmer
from consumers.trimming.wording import describe_log_state


def describe_storage(config: Config, stream: StreamSettings) -> list[str]:
    """Retention of the stream's topics, the state of its log, and lanes that would begin late."""
    lines = describe_retention(config.kafka, stream)
    if not topic_identity(config.kafka, stream.blocks):
        return lines
    if stream.log.is_trimmed or describe_log(config.kafka, stream.blocks).first > 0:
        plan = Trimmer().plan(config, stream)
        lines += describe_log_state(plan)
        if plan.log.first > 0:
            lines += [
                f"  {need.who} may begin at offset {plan.log.first:,}, without what came before"
                for need in plan.blockers
                if need.reason.startswith("it has 0 of ")
            ]
    return lines
