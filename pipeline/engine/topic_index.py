"""The topics of a stream in the order that breaks ties: declared first, then as discovered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pipeline.errors import UsageError

MOST_WATCHED = 1000  # topics that may have metrics of their own: several series a lane each


class TopicIndex:
    """Numbers topics. It grows up to a ceiling; what comes after that is counted and left out."""

    def __init__(self, declared: Iterable[str] = (), max_topics: int = 2048) -> None:
        self.max_topics = max_topics
        self.declared: list[str] = list(dict.fromkeys(declared))
        self.names = list(self.declared)
        self.refused = 0
        if len(self.names) > max_topics:
            raise UsageError(
                f"{len(self.names):,} topics are declared, but max_topics is {max_topics:,}: "
                "raise max_topics, or declare fewer."
            )
        self._index = {name: i for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def restore(self, names: Sequence[str], refused: int) -> None:
        """Go on from a list that was reached before."""
        self.names = list(names)
        self.refused = refused
        self._index = {name: i for i, name in enumerate(self.names)}

    def find(self, topic: str) -> int | None:
        """The number of a topic, if it has one."""
        return self._index.get(topic)

    def numbers(self, topics: Sequence[str]) -> list[int]:
        """The numbers of these topics; new ones join, while there is room."""
        index = self._index
        try:
            return [index[topic] for topic in topics]
        except KeyError:
            return self._join(topics)

    def _join(self, topics: Sequence[str]) -> list[int]:
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
