"""The topics of a stream, numbered: declared topics first, then in the order of discovery.

The numbers break ties between scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.errors import UsageError

MAX_WATCHED = 1000  # topics with metrics of their own, which are several series per lane


class TopicIndex:
    """Numbers topics, up to `max_topics`. Further topics are refused and counted."""

    def __init__(self, declared: Iterable[str] = (), max_topics: int = 2048) -> None:
        self.max_topics = max_topics
        self.declared: list[str] = list(dict.fromkeys(declared))
        self.names = list(self.declared)
        self.refused = 0
        if len(self.names) > max_topics:
            raise UsageError(
                f"{len(self.names):,} topics are declared, but max_topics is {max_topics:,}: "
                "raise max_topics, or declare fewer topics."
            )
        self._index = {name: i for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def restore(self, names: Sequence[str], refused: int) -> None:
        """Restore the topics and the count of refused topics from a snapshot."""
        self.names = list(names)
        self.refused = refused
        self._index = {name: i for i, name in enumerate(self.names)}

    def find(self, topic: str) -> int | None:
        """Return the number of a topic, or None if it is not known."""
        return self._index.get(topic)

    def numbers(self, topics: Sequence[str]) -> list[int]:
        """Return the numbers of topics. New topics are added while there is room."""
        index = self._index
        try:
            return [index[topic] for topic in topics]
        except KeyError:
            return self._add(topics)

    def _add(self, topics: Sequence[str]) -> list[int]:
        numbers = []
        for topic in topics:
            number = self._index.get(topic)
            if number is None:
                if len(self.names) >= self.max_topics:
                    self.refused += 1
                    continue
                number = self._index[topic] = len(self.names)
                self.names.append(topic)
            numbers.append(number)
        return numbers
