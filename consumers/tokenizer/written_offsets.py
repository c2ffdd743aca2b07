"""What this process has written but not committed yet, so that a retry does not write it again.

After an error a worker is replaced by a new one in the same process. The new one reads from the
committed offsets. Without this memory, each retry would add the same records to the log.
"""

from __future__ import annotations

from collections import defaultdict

Source = tuple[str, int]  # a Kafka topic's id, and a partition


class WrittenOffsets:
    """The acknowledged offsets of each partition; kept by a process for all its workers."""

    def __init__(self) -> None:
        self._logged: dict[Source, int] = {}
        self._dead_letters: defaultdict[Source, set[int]] = defaultdict(set)

    def log_covers(self, source: Source, stop: int) -> None:
        """Take note that the log has all events before the offset `stop`."""
        self._logged[source] = max(stop, self._logged.get(source, 0))

    def has_dead_letter(self, source: Source, offset: int) -> None:
        """Take note that the dead-letter topic has the event at this offset."""
        self._dead_letters[source].add(offset)

    def is_written(self, source: Source, offset: int) -> bool:
        """Whether the event at this offset, document or dead letter, needs no more writing."""
        covered = offset < self._logged.get(source, 0)
        return covered or offset in self._dead_letters.get(source, ())

    def committed(self, source: Source) -> None:
        """Forget the offsets of a partition: they are committed, or another worker reads it now."""
        self._logged.pop(source, None)
        self._dead_letters.pop(source, None)
