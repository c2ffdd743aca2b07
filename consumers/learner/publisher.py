"""Publishing the rankings of lanes: one transaction behind the learning, exactly once.

While the rankings of one stretch of the log are written, the next stretch is ranked and learned.
Each published lane has a consumer group of its own, whose committed offset says how far the lane
has published; so lanes may be at different places, and may move from worker to worker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from consumers.config import KafkaSettings, StreamSettings
from consumers.kafka.client_types import TopicPartition
from consumers.kafka.clients import new_transactional_producer
from consumers.kafka.errors import BrokerAwayError
from consumers.kafka.offsets import committed_offsets
from consumers.kafka_names import lane_consumer_group
from consumers.learner.transactions import ExactlyOnce, Outgoing
from consumers.task import Task
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.ranking_events import RankingWriter
from pipeline.storage.binary_array import BinaryArray

# Brokers forget the offsets of a group without members that has committed nothing for days.
COMMIT_AGAIN_SECONDS = 3600.0
LEAVE_SECONDS = 10.0  # how long a worker that is to stop waits for the broker
LOOK_SECONDS = 0.2


class Publisher:
    """Publishes the rankings of some lanes of a stream."""

    def __init__(
        self,
        settings: KafkaSettings,
        stream: StreamSettings,
        lanes: Sequence[str],
        transactional_id: str,
        stop: threading.Event,
        settled: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._groups = {lane: lane_consumer_group(stream.name, lane) for lane in lanes}
        self._stop = stop
        self._settled = settled  # called whenever all that was begun is published
        source = TopicPartition(stream.blocks, 0)
        self._exactly_once = ExactlyOnce(
            source,
            lambda: new_transactional_producer(settings, transactional_id),
            lambda groups: committed_offsets(settings, groups, source),
        )
        self._committed: dict[str, int | None] = {}  # by group, as the broker has it
        self._writers: dict[tuple[str, ...], RankingWriter] = {}
        self._task: Task[None] | None = None
        self._task_since = time.monotonic()
        self.published: dict[str, int] = {}  # by lane: the next record to publish the rankings of

    def start(self) -> None:
        """Take over from whoever published before."""
        self._committed = self._exactly_once.start(self._groups.values())
        self.published = {lane: self._committed[g] or 0 for lane, g in self._groups.items()}

    def written(
        self, ranked: RankedSegment, lanes: Sequence[str], topics: Sequence[str], offset: int
    ) -> Outgoing | None:
        """The rankings by `lanes` that are still to be published of what a record held."""
        due = tuple(lane for lane in lanes if self.published.get(lane, offset + 1) <= offset)
        if not due:
            return None
        writer = self._writers.setdefault(due, RankingWriter(due, self._stream.top))
        values = writer.write(ranked, topics, [lanes.index(lane) for lane in due])
        keys = [str(document.id).encode() for document in ranked.documents for _ in due]
        return Outgoing(self._stream.rankings, BinaryArray.from_strings(keys), values)

    def publish(self, records: Sequence[Outgoing], lanes: Sequence[str], position: int) -> None:
        """Publish what `lanes` said up to `position`, once what was before is published."""
        moved = [lane for lane in lanes if self.published.get(lane, position) < position]
        if moved:
            self._begin(records, moved, position)

    def stay_known(self) -> None:
        """Commit offsets again that have rested for long."""
        if self._task is None and time.monotonic() - self._task_since > COMMIT_AGAIN_SECONDS:
            for position in sorted(set(self.published.values())):
                lanes = [lane for lane, at in self.published.items() if at == position]
                self._begin([], lanes, position)

    def _begin(self, records: Sequence[Outgoing], lanes: Sequence[str], position: int) -> None:
        self.settle()
        before = {self._groups[lane]: self._committed[self._groups[lane]] for lane in lanes}
        self._committed.update(dict.fromkeys(before, position))
        self.published.update(dict.fromkeys(lanes, position))
        self._task_since = time.monotonic()
        self._task = Task(
            "publishing", lambda: self._exactly_once.publish(records, before, position)
        )

    def settle(self) -> None:
        """Wait until all is published; raises what went wrong with it."""
        if self._task is None:
            return
        leave_at: float | None = None
        while not self._task.done(LOOK_SECONDS):
            if self._stop.is_set():
                leave_at = leave_at or time.monotonic() + LEAVE_SECONDS
                if time.monotonic() > leave_at:
                    raise BrokerAwayError
        self._task.result(0)
        self._task = None
        self._settled()

    def check(self) -> None:
        """Raise what went wrong, if publishing has ended meanwhile."""
        if self._task is None:
            self._settled()
        elif self._task.done():
            self.settle()

    def close(self) -> None:
        """Let the broker go; what was published stays published."""
        self._exactly_once.close()
