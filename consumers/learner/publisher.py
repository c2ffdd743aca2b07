"""Publishes the rankings of lanes exactly once, in the background.

While the rankings of some blocks are being published (`transactions`), the next blocks are ranked
and learned. Each published lane has a consumer group of its own, whose committed offset says how
far the lane has published. So lanes may be at different offsets, and may move between workers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from consumers.kafka.client_types import TopicPartition
from consumers.kafka.clients import new_transactional_producer
from consumers.kafka.errors import BrokerAwayError
from consumers.kafka.offsets import committed_offsets
from consumers.kafka_names import lane_consumer_group
from consumers.learner.transactions import ExactlyOncePublisher, RecordBatch
from consumers.settings import KafkaSettings, StreamSettings
from consumers.task import Task
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.ranking_events import RankingWriter
from pipeline.storage.binary_array import BinaryArray

# A group without members loses its offsets on the broker if it commits nothing for days.
COMMIT_AGAIN_SECONDS = 3600.0
STOP_SECONDS = 10.0  # how long a worker that must stop waits for the broker
POLL_SECONDS = 0.2


class Publisher:
    """Publishes the rankings of some lanes of a stream."""

    def __init__(
        self,
        settings: KafkaSettings,
        stream: StreamSettings,
        lanes: Sequence[str],
        transactional_id: str,
        stop: threading.Event,
        all_published: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._groups = {lane: lane_consumer_group(stream.name, lane) for lane in lanes}
        self._stop = stop
        self._all_published = all_published  # called whenever no transaction is under way
        source = TopicPartition(stream.blocks, 0)
        self._transactions = ExactlyOncePublisher(
            source,
            lambda: new_transactional_producer(settings, transactional_id),
            lambda groups: committed_offsets(settings, groups, source),
        )
        self._committed: dict[str, int | None] = {}  # by group: the offset on the broker
        self._writers: dict[tuple[str, ...], RankingWriter] = {}
        self._task: Task[None] | None = None
        self._task_since = time.monotonic()
        self.published: dict[str, int] = {}  # by lane: the next offset of the log to publish

    def start(self) -> None:
        """Take over from the worker that published these lanes before."""
        self._committed = self._transactions.start(self._groups.values())
        self.published = {lane: self._committed[g] or 0 for lane, g in self._groups.items()}

    @property
    def without_offset(self) -> list[str]:
        """The lanes of which the broker had no offset at the start."""
        return [lane for lane, group in self._groups.items() if self._committed[group] is None]

    def encode(
        self, ranked: RankedSegment, lanes: Sequence[str], topics: Sequence[str], offset: int
    ) -> RecordBatch | None:
        """The rankings of a segment by those of its lanes that have not published them yet.

        `offset` is that of the record of the log that holds the segment.
        """
        due = tuple(lane for lane in lanes if self.published.get(lane, offset + 1) <= offset)
        if not due:
            return None
        writer = self._writers.setdefault(due, RankingWriter(due, self._stream.top))
        values = writer.write(ranked, topics, [lanes.index(lane) for lane in due])
        keys = [str(document.id).encode() for document in ranked.documents for _ in due]
        return RecordBatch(self._stream.rankings, BinaryArray.from_strings(keys), values)

    def publish(self, batches: Sequence[RecordBatch], lanes: Sequence[str], position: int) -> None:
        """Publish the rankings of `lanes` up to `position`, after those that were begun before."""
        moved = [lane for lane in lanes if self.published.get(lane, position) < position]
        if moved:
            self._begin_transaction(batches, moved, position)

    def refresh_offsets(self) -> None:
        """Commit offsets again that have not moved for long, so that the broker keeps them."""
        if self._task is None and time.monotonic() - self._task_since > COMMIT_AGAIN_SECONDS:
            for position in sorted(set(self.published.values())):
                lanes = [lane for lane, at in self.published.items() if at == position]
                self._begin_transaction([], lanes, position)

    def _begin_transaction(
        self, batches: Sequence[RecordBatch], lanes: Sequence[str], position: int
    ) -> None:
        """Publish in a thread of its own, after the transaction before."""
        self.settle()
        before = {self._groups[lane]: self._committed[self._groups[lane]] for lane in lanes}
        self._committed.update(dict.fromkeys(before, position))
        self.published.update(dict.fromkeys(lanes, position))
        self._task_since = time.monotonic()
        self._task = Task(
            "publishing", lambda: self._transactions.publish(batches, before, position)
        )

    def settle(self) -> None:
        """Wait until everything is published; raises the error if publishing failed."""
        if self._task is None:
            return
        give_up_at: float | None = None
        while not self._task.done(POLL_SECONDS):
            if self._stop.is_set():
                give_up_at = give_up_at or time.monotonic() + STOP_SECONDS
                if time.monotonic() > give_up_at:
                    raise BrokerAwayError
        self._task.result(0)
        self._task = None
        self._all_published()

    def check(self) -> None:
        """Raise the error if publishing has failed meanwhile."""
        if self._task is None:
            self._all_published()
        elif self._task.done():
            self.settle()

    def close(self) -> None:
        """Disconnect."""
        self._transactions.close()
