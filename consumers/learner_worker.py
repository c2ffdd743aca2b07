"""A learner worker: reads the log of rounds, ranks, learns, publishes, and can start again.

What a crash at each point causes:

1. while a block is ranked and learned: nothing was said yet; the next start does it again;
2. while its rankings are being published: they are published with the offset, or not at all;
3. after that, before the next snapshot: the next start loads the last snapshot and follows the log
   silently up to the committed offset, which gives the same state, and goes on from there;
4. while a snapshot is written: the one before it is used.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterator

from kafka import TopicPartition
from kafka.errors import OffsetOutOfRangeError

from consumers.clients import Consumer, Message, new_consumer, new_transactional_producer
from consumers.config import Config, StreamSettings
from consumers.transactions import ExactlyOnce, Outgoing
from pipeline.engine import Engine
from pipeline.log import Coverage, coverage_from, decode_record
from pipeline.rankings import ranking_events
from pipeline.snapshots import SnapshotFolder, resume, take

log = logging.getLogger(__name__)

POLL_MS = 200
BLOCKS_AT_ONCE = 8  # to a transaction, when the worker is behind


class LogError(Exception):
    """The log cannot be followed; the message says what to do."""


class LearnerWorker:
    """Follows the log of one stream with all its lanes."""

    def __init__(self, config: Config, stream: StreamSettings) -> None:
        self._config = config
        self._stream = stream
        self._source = TopicPartition(stream.blocks, 0)
        self._published = [lane.publish for lane in stream.lanes]
        self._names = [lane.parsed.name for lane in stream.lanes]
        self.group = f"wirerank.{stream.name}.learn"
        self._consumer: Consumer = new_consumer(config.kafka, group_id=self.group)
        self._consumer.assign([self._source])
        self._writer = ExactlyOnce(
            self.group,
            self._source,
            lambda: new_transactional_producer(config.kafka, self.group),
            lambda: self._consumer.committed(self._source),
        )
        folder = re.sub(r"[^A-Za-z0-9._-]", "_", stream.name)
        self._snapshots = SnapshotFolder(config.snapshots.folder / folder, config.snapshots.keep)
        self._snapshot_at = time.monotonic()
        self.engine = self._new_engine()
        self._coverage = Coverage()
        self.position = 0  # the next offset of the log
        self._committed: int | None = None

    def _new_engine(self) -> Engine:
        lanes = [lane.parsed for lane in self._stream.lanes]
        return Engine(lanes, self._stream.topics, self._stream.engine_settings())

    def run(self, stop: threading.Event) -> None:
        """Recover, then follow the log until asked to stop; then finish the block and snapshot."""
        try:
            self._recover(stop)
            while not stop.is_set():
                messages = self._poll()
                if messages:
                    self._publish(messages)
                if time.monotonic() - self._snapshot_at > self._config.snapshots.every_seconds:
                    self.snapshot()
            self.snapshot()
        finally:
            self._writer.close()
            self._consumer.close(autocommit=False)
            self.engine.close()

    def _recover(self, stop: threading.Event) -> None:
        """Load the newest good snapshot and follow the log silently to the committed offset."""
        self._committed = self._writer.start()
        damaged: list[str] = []
        snapshot = self._snapshots.newest(damaged)
        for problem in damaged:
            log.warning("a snapshot is passed over: %s", problem)
        if snapshot is not None:
            if snapshot.position > (self._committed or 0):
                raise LogError(
                    f"the snapshot stands at {snapshot.position} of {self._stream.blocks}, but "
                    f"only {self._committed} is committed: it belongs to another broker or log. "
                    f"Move {self._snapshots.path} away to start from the log."
                )
            resume(self.engine, snapshot)
            self._coverage = coverage_from(snapshot.content["coverage"])
            self.position = snapshot.position
        else:
            self.position = self._consumer.beginning_offsets([self._source])[self._source]
            if self.position > 0:
                raise LogError(
                    f"{self._stream.blocks} begins at {self.position}, and no snapshot reaches "
                    "that far: what was before is gone. Restore a snapshot, or start a new log."
                )
        self._consumer.seek(self._source, self.position)
        target = self._committed or 0
        log.info("at %s of the log, %s is committed", self.position, target)
        while self.position < target and not stop.is_set():
            for message in self._poll(target - self.position):
                for _ in self._follow(message):
                    pass

    def _poll(self, most: int = BLOCKS_AT_ONCE) -> list[Message]:
        try:
            polled = self._consumer.poll(POLL_MS, max_records=min(most, BLOCKS_AT_ONCE))
        except OffsetOutOfRangeError:
            raise LogError(
                f"{self._stream.blocks} has no offset {self.position}: the log was deleted or cut "
                "since it was last read. Restore it, or start anew with an empty snapshot folder."
            ) from None
        return polled.get(self._source, [])

    def _follow(self, message: Message) -> Iterator[Outgoing]:
        """Rank and learn a record of the log; yields what is to be published."""
        name = f"{message.topic}[{message.partition}] offset={message.offset}"
        record = decode_record(message.value or b"", name)
        block = self._coverage.admit(record, name)
        self.position = message.offset + 1
        if block is None:
            return
        topics = self.engine.topics.names
        for ranked in self.engine.process(block):
            events = ranking_events(ranked, self._names, topics, self._stream.top)
            for number, event in enumerate(events):
                document, lane = divmod(number, len(self._names))
                if self._published[lane]:
                    key = str(ranked.documents[document].id).encode()
                    yield Outgoing(self._stream.rankings, key, event)

    def _publish(self, messages: list[Message]) -> None:
        outgoing = [record for message in messages for record in self._follow(message)]
        self._writer.publish(outgoing, self._committed, self.position)
        self._committed = self.position

    def snapshot(self) -> None:
        """Keep the state as of the committed offset."""
        self._snapshot_at = time.monotonic()
        if self._committed is None:
            return
        snapshot = take(self.engine, self.position)
        snapshot.content["coverage"] = self._coverage.state()
        self._snapshots.write(snapshot)
