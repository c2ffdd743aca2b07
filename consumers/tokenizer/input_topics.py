"""The Kafka topics that a stream reads: which ones, and which topic a name stands for.

A topic that is deleted and created again keeps its name, but gets a new id.
"""

from __future__ import annotations

from collections.abc import Iterable

from consumers.kafka.client_types import GroupConsumer
from consumers.kafka.input_end import input_pattern
from consumers.kafka.topics import TopicWatch
from consumers.settings import Config
from consumers.stream_settings import StreamSettings


def subscribe(consumer: GroupConsumer, config: Config, stream: StreamSettings) -> None:
    """Subscribe to the documents and labels of a stream, by name and by pattern."""
    if stream.documents_pattern:
        consumer.subscribe(pattern=input_pattern(config, stream))
    else:
        consumer.subscribe(stream.input_topics)


class InputTopics:
    """The ids of the topics that a reader has met so far."""

    def __init__(self, config: Config, known: Iterable[str]) -> None:
        self._settings = config.kafka
        self._watches: dict[str, TopicWatch] = {}
        for topic in known:
            self.meet(topic)

    @property
    def names(self) -> set[str]:
        """The topics that were met."""
        return set(self._watches)

    def meet(self, topic: str) -> bool:
        """Ask for the id of a topic if it is not known yet; says whether it is new."""
        if topic in self._watches:
            return False
        self._watches[topic] = TopicWatch(self._settings, topic)
        return True

    def identity(self, topic: str) -> str:
        """The id of a topic when it was met."""
        return self._watches[topic].identity

    def changed(self, topics: Iterable[str]) -> str | None:
        """The first of these topics that is not the one that was met; asks the broker."""
        return next((topic for topic in topics if not self._watches[topic].is_current()), None)

    def gone(self, at_once: bool = False) -> str | None:
        """A topic that was deleted or replaced since it was met; asked every few seconds."""
        return next((t for t, watch in self._watches.items() if watch.is_gone(at_once)), None)

    def close(self) -> None:
        """Disconnect."""
        for watch in self._watches.values():
            watch.close()
