"""A learner worker: reads the log of rounds, ranks, learns, publishes, and can start again.

What a crash at each point causes:

1. while a block is ranked and learned: nothing was said yet; the next start does it again;
2. while its rankings are being published: they are published with the offsets, or not at all;
3. after that, before the next snapshot: the next start loads the last snapshot and follows the log
   silently up to the committed offsets, which gives the same state, and goes on from there;
4. while a snapshot is written: the one before it is used.

Lanes that have come equally far share one follower. A lane that is new to the configuration gets
one of its own, from the beginning of the log, and joins the others where it meets them.

A worker can also be one shard of a lane: see `consumers.sharding.shard_worker`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from consumers.assignment import ShardAssignment
from consumers.config import Config, StreamSettings
from consumers.kafka.batch_encoder import warm_up_encoder
from consumers.kafka.errors import BrokerAwayError
from consumers.kafka.log_reader import POLL_MS, LogReader, describe_log
from consumers.kafka_names import transactional_id
from consumers.learner.live_page import LearnerPage
from consumers.learner.publisher import Publisher
from consumers.learner.recovery import Recovery
from consumers.learner.transactions import Outgoing
from consumers.sharding.resharding import divide_anew
from consumers.sharding.score_exchange import StoppedError
from consumers.sharding.shard_worker import ShardOfLane, folder_of, stream_folder
from consumers.task import Task
from consumers.worker_metrics import WorkerMetrics
from learners.specs import LaneSpec, helpers_of, resolved
from pipeline.engine.engine import Engine
from pipeline.engine.warmup import warm_up
from pipeline.follower import Follower
from pipeline.metrics.collectors import LearnedBlock, LearnerMetrics
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.snapshot import Snapshot
from pipeline.text.tokenizer import Tokenizer

log = logging.getLogger(__name__)

# To a transaction, when the worker is behind: many blocks, if they are small.
BLOCKS_AT_ONCE = 64
BYTES_AT_ONCE = 4 << 20
# Lanes that are behind take as many records at a time as last about this long: those in front wait.
BEHIND_SECONDS = 1.0
LAST_SNAPSHOT_SECONDS = 60.0
STANDSTILL_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Following:
    """A follower and what it reads the log with."""

    follower: Follower
    reader: LogReader


class LearnerWorker:
    """Follows the log of one stream: with all lanes that are whole, one of them, or a shard."""

    def __init__(
        self,
        config: Config,
        stream: StreamSettings,
        worker_metrics: WorkerMetrics,
        metrics: LearnerMetrics,
        page: LearnerPage,
        only: str | None = None,
        share: ShardAssignment | None = None,
    ) -> None:
        self._config = config
        self._health, self._lag = worker_metrics.health, worker_metrics.lag
        self._metrics = metrics
        self._page = page
        self._shown_from: dict[str, int] = {}  # by lane: where it had come to before this start
        self._stream = stream
        lanes = [lane for lane in stream.whole_lanes if only in (None, lane.parsed.name)]
        self._shard: ShardOfLane | None = None
        if share is not None:
            lanes = [lane for lane in stream.divided_lanes if lane.parsed.name == share.lane]
            self._shard = ShardOfLane(config, stream, share)
        self._every = resolved([lane.parsed for lane in stream.lanes])
        names = [lane.parsed.name for lane in lanes]
        self._specs = {spec.name: spec for spec in self._every if spec.name in names}
        speaks = share is None or share.publishes
        self._publishing = [lane.parsed.name for lane in lanes if lane.publish and speaks]
        lane, shard = (share.lane, share.shard) if share else (only, 0)
        self._transactional_id = transactional_id(stream.name, lane, shard)
        self._shares = [share] if share else [ShardAssignment(lane, 0, 1) for lane in self._specs]
        self._folder = stream_folder(config, stream)
        place = folder_of(self._folder, self._shares[0])
        self._snapshots = SnapshotFolder(place, config.snapshots.keep)
        self._snapshot_at = time.monotonic()
        self._snapshotting: Task[None] | None = None
        self._kept: dict[str, int] = {}  # by lane: where the last snapshot was taken
        self._log_identity = ""
        self._followings: list[Following] = []  # the one that is furthest comes last
        self._behind_at_once = 1
        specs = [replace(spec, shards=2) if share else spec for spec in self._specs.values()]
        warm_up([*specs, *helpers_of(specs, self._every)], Tokenizer(stream.profile), log.info)
        warm_up_encoder()

    def run(self, stop: threading.Event) -> None:
        """Recover, then follow the log until asked to stop; then finish the block and snapshot."""
        self._metrics.begin()
        self._health.ready = False
        self._publisher = Publisher(
            self._config.kafka, self._stream, self._publishing, self._transactional_id, stop,
            self._metrics.committed,
        )  # fmt: skip
        try:
            self._recover(stop)
            while not stop.is_set():
                self._step()
            self._publisher.settle()
            if self._snapshotting is not None:  # or the last one would be left out
                self._snapshotting.result(LAST_SNAPSHOT_SECONDS)
            self._snapshot(passing=self._shard is not None)
            if self._snapshotting is not None:
                self._snapshotting.result(LAST_SNAPSHOT_SECONDS)
        except BrokerAwayError:
            log.warning("the broker does not answer; leaving without a last snapshot or commit")
        except StoppedError as stopped:
            log.warning("%s; leaving without a last snapshot", stopped)
        finally:
            self._publisher.close()
            if self._shard is not None:
                self._shard.close()
            self._page.interrupt()
            for following in self._followings:
                following.reader.close()
                following.follower.engine.close()

    def _recover(self, stop: threading.Event) -> None:
        """Take up where the lanes were, each at its place of the log."""
        facts = describe_log(self._config.kafka, self._stream.blocks)
        self._log_identity = facts.identity
        for share in self._shares:
            settings = self._specs[share.lane].settings
            divide_anew(self._folder, self._snapshots.keep, share, facts.identity, settings)
        self._publisher.start()
        recovery = Recovery(self._snapshots, facts, self._publisher.published, self._new_follower)
        for follower in recovery.followers(list(self._specs)):
            reader = LogReader(self._config.kafka, self._stream.blocks, follower.position)
            self._followings.append(Following(follower, reader))
            if self._shard is not None:
                self._shard.open(follower, facts.identity, stop, self._waiting)
        # Nothing past the end of the log was ever shown, and of a lane that is published nothing
        # past its offset: from there on its counters cannot go backwards.
        published = self._publisher.published
        self._shown_from = {lane: published.get(lane, facts.end) for lane in self._specs}
        self._join()
        self._show([])

    def _waiting(self, seconds: float) -> None:
        """Another shard is waited for: this one is not stuck, but it is not following either."""
        self._health.moved()
        if seconds > STANDSTILL_SECONDS:
            self._health.ready = False

    def _new_follower(self, lanes: Sequence[str]) -> Follower:
        specs = [self._specs[lane] for lane in self._specs if lane in lanes]
        build = LaneSpec.build if self._shard is None else self._shard.build
        settings = self._stream.engine_settings()
        helpers = helpers_of(specs, self._every)
        return Follower(Engine(specs, self._stream.topics, settings, build=build, helpers=helpers))

    def _step(self) -> None:
        """Follow the log a little, with those that are behind and with the foremost."""
        foremost = self._followings[-1]
        self._health.moved()
        for following in self._followings[:-1]:
            missing = foremost.follower.position - following.follower.position
            began = time.monotonic()
            self._advance(following, min(self._behind_at_once, missing), POLL_MS)
            self._behind_at_once = paced(self._behind_at_once, time.monotonic() - began)
        waiting = POLL_MS if len(self._followings) == 1 else 0
        before = foremost.follower.position
        self._advance(foremost, BLOCKS_AT_ONCE, waiting)
        moved = foremost.follower.position > before
        self._lag.polled(foremost.reader.positions())
        self._join()
        self._publisher.check()
        self._publisher.stay_known()
        due = time.monotonic() - self._snapshot_at > self._config.snapshots.every_seconds
        # A shard's are due by the clock of the log; but when that stands still, all are at its end.
        if due and (self._shard is None or not moved) and self._positions() != self._kept:
            self._snapshot()

    def _advance(self, following: Following, most: int, timeout_ms: int) -> None:
        """Rank and learn the next records, and have their rankings published."""
        follower = following.follower
        outgoing: list[Outgoing] = []
        blocks: list[LearnedBlock] = []
        for message in following.reader.poll(most, timeout_ms):
            if self._shard is not None and self._shard.is_agreed(message.timestamp):
                self._published(follower, outgoing, blocks)
                self._snapshot()
                outgoing, blocks = [], []
            self._health.moved()  # a lane that trains often takes its time
            name = f"{message.topic}[{message.partition}] offset={message.offset}"
            began, documents = time.perf_counter(), follower.engine.documents
            # Shards must cut the log alike, whoever looks at them.
            wanted = 0 if self._shard is not None else self._page.wanted(follower)
            for ranked in follower.follow(message.value or b"", message.offset, name, wanted):
                self._page.take(follower, ranked)
                topics = follower.engine.topics.names
                written = self._publisher.written(ranked, follower.names, topics, message.offset)
                if written is not None:
                    outgoing.append(written)
            seconds, documents = time.perf_counter() - began, follower.engine.documents - documents
            arrived = (follower.arrived or message.timestamp) / 1000
            blocks.append(LearnedBlock(documents, seconds, arrived))
            self._page.advance(follower, following.reader.end)
            if sum(len(records.values.data) for records in outgoing) > BYTES_AT_ONCE:
                self._published(follower, outgoing, blocks)
                outgoing, blocks = [], []
        if blocks:
            self._published(follower, outgoing, blocks)
        else:
            self._page.idle(follower, following.reader.end)

    def _published(
        self, follower: Follower, outgoing: Sequence[Outgoing], blocks: Sequence[LearnedBlock]
    ) -> None:
        """Have what was said of some blocks published, and then shown."""
        if blocks:
            self._publisher.publish(outgoing, follower.names, follower.position)
            self._show(blocks)

    def _show(self, blocks: Sequence[LearnedBlock]) -> None:
        """Have those lanes shown that are where they had been, once what they said is published."""
        engines = [
            following.follower.engine
            for following in self._followings
            if all(
                following.follower.position >= self._shown_from[lane]
                for lane in following.follower.names
            )
        ]
        if engines:
            self._metrics.learned(engines, blocks)
            self._health.ready = True

    def _join(self) -> None:
        """Let followers that have met go on together."""
        self._followings.sort(key=lambda following: following.follower.position)
        together: list[Following] = []
        for following in self._followings:
            last = together[-1].follower if together else None
            if last is None or last.position != following.follower.position:
                together.append(following)
                continue
            log.info("%s: joined at %s", ", ".join(following.follower.names), last.position)
            last.merge(following.follower, list(self._specs))
            following.reader.close()
        self._followings = together
        *behind, foremost = together
        others = [following.follower for following in behind]
        self._page.show(foremost.follower, foremost.reader.end, others)

    def _snapshot(self, passing: bool = False) -> None:
        """Keep the state, which is that of what is published; written while the work goes on.

        One that is `passing` is where only this shard is, and goes when there is a newer one.
        """
        self._snapshot_at = time.monotonic()
        if self._snapshotting is not None and self._shard is not None:
            self._snapshotting.result(LAST_SNAPSHOT_SECONDS)  # none is left out: others take it too
        if self._snapshotting is not None and not self._snapshotting.done():
            log.warning("a snapshot is still being written; the next one comes later")
            return
        self._publisher.settle()
        self._kept = self._positions()
        taken = []
        for follower in (following.follower for following in self._followings):
            published = [lane for lane in follower.names if lane in self._publishing]
            told = {} if self._shard is None else self._shard.told(follower)
            if passing:
                told["passing"] = True
            taken.append(follower.snapshot(log=self._log_identity, published=published, **told))
        self._snapshotting = Task("snapshot", lambda: self._keep(taken))

    def _positions(self) -> dict[str, int]:
        """Where each lane is."""
        return {
            lane: following.follower.position
            for following in self._followings
            for lane in following.follower.names
        }

    def _keep(self, taken: list[Snapshot]) -> None:
        for snapshot in taken:
            try:
                began = time.perf_counter()
                path = self._snapshots.write(snapshot)
                seconds = time.perf_counter() - began
                self._metrics.snapshot(time.time(), path.stat().st_size, seconds)
            except OSError as error:
                log.error(
                    "the snapshot at %s cannot be written to %s: %s. The work goes on, but the "
                    "next start will take longer: make room, or name another snapshots.folder",
                    snapshot.position, self._snapshots.path, error.strerror,
                )  # fmt: skip


def paced(records: int, seconds: float) -> int:
    """How many records to take next, when so many took so long."""
    if seconds > BEHIND_SECONDS:
        return max(1, records // 2)
    return min(BLOCKS_AT_ONCE, 2 * records)
