"""Publishes the rankings of lanes exactly once, in the background.

While the rankings of some blocks are being published (`transactions`), the next blocks are ranked
and learned. Each published lane has a consumer group of its own, whose committed offset says how
far the lane has published. So lanes may be at different offsets, and may move between workers.

Each lane also has a producer of its own, with the transactional id of the lane, and the lanes of a
block are published side by side, in a transaction each. So a lane has one publisher, whatever other
lanes its worker has. A crash may leave lanes at different offsets, which recovery expects anyway.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from consumers.kafka.batch_encoder import encode_headers
from consumers.kafka.client_types import TopicPartition
from consumers.kafka.clients import new_transactional_producer
from consumers.kafka.clock import ClockCheck
from consumers.kafka.errors import BrokerAwayError
from consumers.kafka.offsets import committed_offset
from consumers.kafka_names import lane_consumer_group, transactional_id
from consumers.learner.lane_owner import LaneOwner
from consumers.learner.transactions import ExactlyOncePublisher, RecordBatch
from consumers.output_settings import RECORD_KEY
from consumers.settings import KafkaSettings
from consumers.stream_settings import StreamSettings
from consumers.task import Task
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.engine.ranking_events import RankingWriter
from pipeline.log.block import Entry
from pipeline.storage.binary_array import BinaryArray

# A group without members loses its offsets on the broker if it commits nothing for days.
COMMIT_AGAIN_SECONDS = 3600.0
STOP_SECONDS = 10.0  # how long a worker that must stop waits for the broker
POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class LaneRankings:
    """Rankings of one lane, as records of Kafka."""

    lane: str
    records: RecordBatch

    @property
    def size(self) -> int:
        """The size of the rankings in bytes."""
        return len(self.records.values.data)


class Publisher:
    """Publishes the rankings of some lanes of a stream."""

    def __init__(
        self,
        settings: KafkaSettings,
        stream: StreamSettings,
        lanes: Sequence[str],
        owner: LaneOwner,
        clock: ClockCheck,
        stop: threading.Event,
        all_published: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._stop = stop
        self._all_published = all_published  # called whenever no transaction is under way
        self._transactions = {
            lane: self._lane_transactions(settings, stream, lane, owner, clock) for lane in lanes
        }
        self._writers = {
            lane: RankingWriter((lane,), stream.top, stream.output.chosen_fields) for lane in lanes
        }
        self._tasks: list[Task[None]] = []  # one per lane that is being published
        self._tasks_since = time.monotonic()
        self.published: dict[str, int] = {}  # by lane: the next offset of the log to publish
        # By lane: the offset on the broker; None if there was none at the start.
        self._committed: dict[str, int | None] = {}

    @staticmethod
    def _lane_transactions(
        settings: KafkaSettings,
        stream: StreamSettings,
        lane: str,
        owner: LaneOwner,
        clock: ClockCheck,
    ) -> ExactlyOncePublisher:
        source, group = TopicPartition(stream.blocks, 0), lane_consumer_group(stream.name, lane)
        id_ = transactional_id(stream.name, lane)
        return ExactlyOncePublisher(
            source,
            group,
            owner,
            lambda: new_transactional_producer(settings, id_),
            lambda: committed_offset(settings, group, source),
            clock,
        )

    def start(self) -> None:
        """Take over from the workers that published these lanes before."""
        tasks = {
            lane: Task(f"taking over {lane}", transactions.start)
            for lane, transactions in self._transactions.items()
        }
        wait_for_all(tasks.values())
        self._committed = {lane: task.result(0) for lane, task in tasks.items()}
        self.published = {lane: offset or 0 for lane, offset in self._committed.items()}

    @property
    def without_offset(self) -> list[str]:
        """The lanes of which the broker had no offset at the start."""
        return [lane for lane, offset in self._committed.items() if offset is None]

    def encode(
        self,
        ranked: RankedSegment,
        lanes: Sequence[str],
        topics: Sequence[str],
        offsets: Sequence[int],
    ) -> list[LaneRankings]:
        """The rankings of a segment by those of its lanes that have not published them yet.

        `offsets` are those of the records of the log that hold the documents.
        """
        # By lane: how many of the documents it has published. Lanes that publish nothing have
        # no offset.
        done = {
            lane: bisect_left(offsets, self.published[lane])
            for lane in lanes
            if lane in self.published
        }
        due = {lane: count for lane, count in done.items() if count < len(offsets)}
        if not due:
            return []
        keys = BinaryArray.from_strings([self._key(document) for document in ranked.documents])
        headers = self._headers(ranked.documents)
        encoded = []
        for lane, count in due.items():
            values = self._writers[lane].write(ranked, topics, [lanes.index(lane)])
            records = RecordBatch(self._stream.rankings, keys, values, headers)
            encoded.append(LaneRankings(lane, records.since(count)))
        return encoded

    def _key(self, document: Entry) -> bytes:
        """The key of a document's rankings: its id, or the key of its record if that is chosen."""
        passed_on = document.passed_on
        if self._stream.output.key != RECORD_KEY or passed_on is None or passed_on.key is None:
            return str(document.id).encode()
        return passed_on.key

    def _headers(self, documents: Sequence[Entry]) -> BinaryArray | None:
        """The headers that are passed on to the rankings of these documents; None if none are."""
        chosen = self._stream.output.headers
        if not chosen or all(document.passed_on is None for document in documents):
            return None
        return BinaryArray.from_strings(
            [
                encode_headers([h for h in document.passed_on.headers if h[0] in chosen])
                if document.passed_on is not None else b"\0"
                for document in documents
            ]
        )  # fmt: skip

    def publish(
        self, rankings: Sequence[LaneRankings], lanes: Sequence[str], position: int
    ) -> None:
        """Publish the rankings of `lanes` up to `position`, after those that were begun before."""
        moved = [lane for lane in lanes if self.published.get(lane, position) < position]
        if moved:
            self._begin_transactions(rankings, dict.fromkeys(moved, position))

    def refresh_offsets(self) -> None:
        """Commit offsets again that have not moved for long, so that the broker keeps them."""
        if not self._tasks and time.monotonic() - self._tasks_since > COMMIT_AGAIN_SECONDS:
            self._begin_transactions([], self.published)

    def _begin_transactions(
        self, rankings: Sequence[LaneRankings], positions: Mapping[str, int]
    ) -> None:
        """Publish each lane in a thread of its own, after the transactions before."""
        self.settle()
        self._tasks_since = time.monotonic()
        for lane, position in positions.items():
            batches = [ranked.records for ranked in rankings if ranked.lane == lane]
            publish, before = self._transactions[lane].publish, self._committed[lane]
            self._tasks.append(Task("publishing", partial(publish, batches, before, position)))
            self._committed[lane] = self.published[lane] = position

    def settle(self) -> None:
        """Wait until everything is published; raises the error if publishing failed.

        All lanes are waited for, also if one has failed: the next worker of this process must not
        meet a thread that still publishes.
        """
        if not self._tasks:
            return
        give_up_at: float | None = None
        while not all(task.done(POLL_SECONDS) for task in self._tasks):
            if self._stop.is_set():
                give_up_at = give_up_at or time.monotonic() + STOP_SECONDS
                if time.monotonic() > give_up_at:
                    raise BrokerAwayError
        for task in self._tasks:
            task.result(0)
        self._tasks = []
        self._all_published()

    def check(self) -> None:
        """Raise the error if publishing has failed meanwhile."""
        if not self._tasks:
            self._all_published()
        elif all(task.done() for task in self._tasks):
            self.settle()

    def close(self) -> None:
        """Disconnect."""
        for transactions in self._transactions.values():
            transactions.close()


def wait_for_all(tasks: Collection[Task[int | None]]) -> None:
    """Wait until all tasks have ended, however they end."""
    for task in tasks:
        while not task.done(POLL_SECONDS):
            pass
