"""Whether a stream that has a `stop` has read its whole input.

A tokenizer that has written everything before the stop to the log says so in the note that it
commits for the partition (`commit_note`). When all partitions have such a note, no record of the
log follows, and every worker of the stream can end.
"""

from __future__ import annotations

import logging
import re
import time

from consumers.kafka.client_types import Admin, TopicPartition
from consumers.kafka.clients import new_admin
from consumers.kafka.commit_note import CommitNote
from consumers.kafka.errors import KafkaError
from consumers.kafka.offsets import committed_offsets
from consumers.kafka_names import tokenizer_consumer_group
from consumers.settings import Config
from consumers.stream_settings import StreamSettings

log = logging.getLogger(__name__)

ASK_SECONDS = 2.0


class InputEnd:
    """Asks the broker now and then whether all partitions have ended."""

    def __init__(self, config: Config, stream: StreamSettings) -> None:
        self._config = config
        self._stream = stream
        self._asked = -ASK_SECONDS

    def is_reached(self) -> bool:
        """Whether the whole input is in the log; False also if it was asked a moment ago."""
        now = time.monotonic()
        if not self._stream.stop or now - self._asked < ASK_SECONDS:
            return False
        self._asked = now
        try:
            return self._all_have_ended()
        except KafkaError as error:
            log.debug("asked again later whether the input has ended: %s", error)
            return False

    def _all_have_ended(self) -> bool:
        group = tokenizer_consumer_group(self._stream.name)
        ended = {
            partition
            for partition, committed in committed_offsets(self._config.kafka, group).items()
            if CommitNote.decode(committed.metadata).ended == self._stream.stop
        }
        admin = new_admin(self._config.kafka)
        try:
            return ended.issuperset(input_partitions(admin, self._config, self._stream))
        finally:
            admin.close()


def input_partitions(admin: Admin, config: Config, stream: StreamSettings) -> list[TopicPartition]:
    """All partitions that a stream reads, at this moment."""
    if stream.documents_pattern:
        pattern = re.compile(input_pattern(config, stream))
        topics = [topic for topic in admin.describe_topics() if pattern.match(topic["name"])]
    else:
        topics = admin.describe_topics(stream.input_topics)
    return [
        TopicPartition(topic["name"], place["partition_index"])
        for topic in topics
        for place in topic["partitions"]
    ]


def input_pattern(config: Config, stream: StreamSettings) -> str:
    """The pattern of all topics that a stream reads; never of those that workers write."""
    written = [topic for other in config.streams for topic in other.written_topics]
    named = [re.escape(topic) for topic in stream.input_topics]
    others = f"(?!(?:{'|'.join(map(re.escape, written))})$)(?:{stream.documents_pattern})"
    return f"^(?:{'|'.join([*named, others])})$"
