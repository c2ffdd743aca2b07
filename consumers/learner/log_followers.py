"""The followers of a learner, each with its reader of the log, in the order of their positions.

Lanes at the same offset share one follower. Lanes that catch up have a follower of their own and
join the others when they are at the same offset. Lanes that began at another offset have other
terms and topics, so they never join.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from consumers.kafka.log_reader import LogReader
from pipeline.follower import Follower

log = logging.getLogger(__name__)

# A worker that is behind publishes many records in one transaction, if they are small.
MAX_RECORDS = 64
# Lanes that catch up take about this long at a time, because the lanes at the front wait for them.
CATCH_UP_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LogFollower:
    """A follower, and the reader that it gets the records of the log from."""

    follower: Follower
    reader: LogReader


class LogFollowers:
    """All followers of a learner; the foremost is the last."""

    def __init__(self, lanes: Sequence[str]) -> None:
        self._lanes = list(lanes)  # in the order of the configuration
        self._sorted: list[LogFollower] = []

    def __iter__(self) -> Iterator[LogFollower]:
        return iter(self._sorted)

    def add(self, following: LogFollower) -> None:
        """Add a follower; `merge` finds its place."""
        self._sorted.append(following)

    @property
    def foremost(self) -> LogFollower:
        """The one at the front. Of several, the one that began first."""
        return self._sorted[-1]

    @property
    def others(self) -> list[LogFollower]:
        """All but the foremost: they are behind, or began later."""
        return self._sorted[:-1]

    def merge(self) -> None:
        """Merge followers that are at the same offset and began at the same one."""
        self._sorted.sort(key=lambda one: (one.follower.position, -one.follower.began))
        merged: list[LogFollower] = []
        for following in self._sorted:
            last = merged[-1].follower if merged else None
            if last is None or last.place != following.follower.place:
                merged.append(following)
                continue
            names = ", ".join([*last.names, *following.follower.names])
            log.info(
                "a lane has caught up with the others at offset %s: %s go on together",
                last.position, names,
            )  # fmt: skip
            last.merge(following.follower, self._lanes)
            following.reader.close()
        self._sorted = merged

    def positions(self) -> dict[str, int]:
        """By lane: the next offset of the log to follow."""
        return {
            lane: following.follower.position
            for following in self._sorted
            for lane in following.follower.names
        }

    def close(self) -> None:
        """Close all readers and engines."""
        for following in self._sorted:
            following.reader.close()
            following.follower.engine.close()


def next_catch_up_records(records: int, seconds: float) -> int:
    """How many records a lane that is behind takes next, if `records` took `seconds`.

    >>> next_catch_up_records(4, seconds=0.2), next_catch_up_records(4, seconds=3.0)
    (8, 2)
    """
    if seconds > CATCH_UP_SECONDS:
        return max(1, records // 2)
    return min(MAX_RECORDS, 2 * records)
