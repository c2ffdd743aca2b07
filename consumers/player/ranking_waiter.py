"""Waits until every event that was played has been ranked, judging by committed offsets alone.

The tokenizers of a stream form the consumer group `wirerank.STREAM.tokenize`. Its committed offsets
say how far they have read the topic of documents. Each published lane is a consumer group
`wirerank.STREAM.learn.LANE`. It commits its offset in the log in one transaction with its rankings.
So every event is ranked once the tokenizers have committed past the last event, and then the lanes
past what is the end of the log at that moment.

A lane that was removed from a configuration leaves its group behind, whose offset never moves
again. Nobody waits for such a group: the wait ends when at least one group has arrived, and so has
every other group that was seen moving.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeVar

from consumers.kafka.client_types import Admin, TopicPartition
from consumers.kafka.clients import new_admin
from consumers.kafka.errors import KafkaError
from consumers.kafka.offsets import GroupOffsets, end_offset, group_offsets
from consumers.kafka_names import PREFIX, lane_consumer_groups, lane_of_group, tokenized_stream
from consumers.player.outbox import InterruptedWaiting
from consumers.settings import KafkaSettings
from pipeline.interruption import Interruption
from pipeline.replay.progress import Progress

POLL_S = 0.25
# When others have arrived: how long a group that was never seen moving is given to move.
GRACE_S = 5.0
SAY_AFTER_S = 30.0
BOOTSTRAP_MS = 5_000

T = TypeVar("T")

Positions = dict[str, int]  # by the name of a group, or of a group and its log


class ArrivalCheck:
    """Decides when the groups that are still working have all reached their targets."""

    def __init__(self, before: Positions) -> None:
        self._before = before
        self._moved: set[str] = set()
        self._first_arrival: float | None = None

    def all_arrived(self, positions: Positions, targets: Positions, now: float) -> bool:
        """Whether one group has arrived, and so has every other group that was seen moving."""
        self._moved |= {name for name in positions if positions[name] != self._before.get(name)}
        behind = {name for name in positions if positions[name] < targets[name]}
        if len(behind) == len(positions):
            return False
        self._first_arrival = now if self._first_arrival is None else self._first_arrival
        return not behind or (not behind & self._moved and now - self._first_arrival > GRACE_S)


class RankingWaiter:
    """Follows the committed offsets of the groups that work on a topic of documents."""

    def __init__(
        self, kafka: KafkaSettings, topic: str, reporter: Progress, interruption: Interruption
    ) -> None:
        self._kafka = kafka
        self._topic = topic
        self._reporter = reporter
        self._interruption = interruption
        self._admin: Admin | None = None
        self._before: GroupOffsets = {}
        self._since = time.monotonic()

    def begin(self) -> None:
        """Remember the offsets of all groups before anything is played."""
        self._before = self._ask(partial(group_offsets, prefix=PREFIX))

    def wait(self, ends: Mapping[int, int]) -> None:
        """Wait until all events before these offsets of the topic's partitions are ranked."""
        try:
            if ends:
                self._reporter.say("waiting until every event is ranked")
                streams = self._wait_for_tokenizers(ends)
                summary = "; ".join(self._wait_for_lanes(stream) for stream in streams)
                seconds = time.monotonic() - self._since
                self._reporter.say(
                    f"every event is ranked, {seconds:.1f} s after the start: {summary}"
                )
        finally:
            self._disconnect()

    def _wait_for_tokenizers(self, ends: Mapping[int, int]) -> list[str]:
        """Wait for the tokenizers; returns the streams whose tokenizers have passed the ends."""

        def positions(offsets: GroupOffsets) -> Positions:
            reached: Positions = {}
            for group, committed in offsets.items():
                ours = {p.partition: n for p, n in committed.items() if p.topic == self._topic}
                if tokenized_stream(group) is not None and ours:
                    reached[group] = sum(min(ours.get(p, 0), end) for p, end in ends.items())
            return reached

        target = sum(ends.values())
        reached = self._follow(
            positions,
            lambda names: dict.fromkeys(names, target),
            f"no workers follow {self._topic} yet; `wirerank run CONFIG` starts them",
        )
        arrived = [group for group, position in reached.items() if position >= target]
        return [tokenized_stream(group) or "" for group in arrived]

    def _wait_for_lanes(self, stream: str) -> str:
        """Wait until the lanes of a stream have passed the present end of its log.

        Returns a summary that names the lanes that have, and those that were not waited for.
        """
        ends: Positions = {}
        lanes: dict[str, str] = {}
        partitions: dict[str, TopicPartition] = {}

        def positions(offsets: GroupOffsets) -> Positions:
            reached: Positions = {}
            for group in lane_consumer_groups(stream, offsets):
                for partition, offset in offsets[group].items():
                    name = f"{group} in {partition.topic}"
                    reached[name], partitions[name] = offset, partition
                    lanes[name] = lane_of_group(stream, group)
            return reached

        def log_ends(names: Positions) -> Positions:
            for name in names.keys() - ends.keys():
                ends[name] = self._ask(partial(end_offset, partition=partitions[name]))
            return ends

        nobody = f"no learner of {stream} has published anything yet"
        reached = self._follow(positions, log_ends, nobody)
        arrived = [lanes[name] for name in reached if reached[name] >= ends[name]]
        behind = [
            f"{lanes[name]}, which is at offset {reached[name]:,} of {ends[name]:,} of its log"
            for name in reached
            if reached[name] < ends[name]
        ]
        unfinished = f"; not waited for: {', '.join(behind)}" if behind else ""
        return f"by {', '.join(arrived)}{unfinished}"

    def _follow(
        self,
        positions_in: Callable[[GroupOffsets], Positions],
        targets_of: Callable[[Positions], Positions],
        nobody: str,
    ) -> Positions:
        """Watch groups until they have arrived; returns their positions then.

        `nobody` is printed if there are no groups to follow yet.
        """
        check = ArrivalCheck(positions_in(self._before))
        total: int | None = None
        last_lag, last_change, reported = -1, time.monotonic(), False
        try:
            while True:
                positions = positions_in(self._ask(partial(group_offsets, prefix=PREFIX)))
                targets = targets_of(positions)
                now = time.monotonic()
                if positions and check.all_arrived(positions, targets, now):
                    return positions
                lag = sum(max(0, targets[name] - positions[name]) for name in positions)
                if positions and total is None:
                    total = lag
                    self._reporter.begin(total)
                self._reporter.advance(max(0, (total or 0) - lag))
                if lag != last_lag:
                    last_lag, last_change, reported = lag, now, False
                if not reported and not positions:
                    self._reporter.say(nobody)
                    reported = True
                elif not reported and now - last_change > SAY_AFTER_S:
                    self._reporter.say(standstill(positions, targets, now - last_change))
                    reported = True
                self._pause()
        finally:
            self._reporter.end()

    def _pause(self) -> None:
        time.sleep(POLL_S)
        if self._interruption.signal is not None:
            raise InterruptedWaiting

    def _ask(self, question: Callable[[Admin], T]) -> T:
        """Ask the broker, and keep asking until it answers."""
        away = False
        while True:
            try:
                if self._admin is None:
                    self._admin = new_admin(self._kafka, bootstrap_timeout_ms=BOOTSTRAP_MS)
                answer = question(self._admin)
            except (KafkaError, OSError) as error:
                self._disconnect()
                if not away:
                    self._reporter.say(
                        f"the broker does not answer ({type(error).__name__}); waiting for it"
                    )
                    away = True
                self._pause()
            else:
                if away:
                    self._reporter.say("the broker answers again")
                return answer

    def _disconnect(self) -> None:
        admin, self._admin = self._admin, None
        if admin is not None:
            with suppress(KafkaError, OSError):
                admin.close()


def standstill(positions: Positions, targets: Positions, seconds: float) -> str:
    """The message that no group has moved."""
    behind = [f"{name} is at {positions[name]:,} of {targets[name]:,}" for name in positions]
    return f"nothing has moved for {seconds:.0f} s: {'; '.join(behind)}. Are the workers running?"
