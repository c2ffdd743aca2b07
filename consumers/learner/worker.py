"""A learner worker: reads the log, ranks, learns, publishes rankings, and recovers after a crash.

For each block, in this order:

1. rank and learn it, in memory;
2. publish its rankings and commit its offset, in one transaction per lane (`publisher`,
   `transactions`);
3. now and then take a snapshot, of published state only (`snapshot_schedule`).

What a crash causes, by the moment it happens:

- during 1: nothing was published, so the next start does the block again;
- during 2: of each lane, rankings and offset are both published, or neither is;
- after 2, before the next snapshot: the next start loads the last snapshot, follows the log up to
  the committed offsets without publishing, which gives the same state, and continues from there;
- during 3: the snapshot before it is used.

Lanes at the same offset share one follower. A lane that is new in the configuration gets a follower
of its own, from the beginning of the log, and joins the others when it has caught up. If the log
was trimmed before the lane was added, the lane begins later than the others, so it has other terms
and topics, and its follower stays its own.

A worker can also have a single shard of a lane: see `consumers.sharding.lane_shard`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from consumers.assignment import ShardAssignment
from consumers.kafka.batch_encoder import warm_up_encoder
from consumers.kafka.client_types import Message
from consumers.kafka.clock import ClockCheck
from consumers.kafka.errors import BrokerAwayError
from consumers.kafka.input_end import InputEnd
from consumers.kafka.log_reader import POLL_MS, LogDescription, LogReader, describe_log
from consumers.kafka.topics import topic_identity
from consumers.learner.auto_trim import AutoTrim
from consumers.learner.block_following import follow_block
from consumers.learner.initial_model import read_initial_model
from consumers.learner.lane_owner import LaneOwner
from consumers.learner.lane_start import LaneStart
from consumers.learner.live_page import LearnerPage
from consumers.learner.log_followers import (
    MAX_RECORDS,
    LogFollower,
    LogFollowers,
    next_catch_up_records,
)
from consumers.learner.publisher import LaneRankings, Publisher
from consumers.learner.recovery import Recovery
from consumers.learner.snapshot_schedule import SnapshotSchedule
from consumers.settings import Config
from consumers.sharding.lane_shard import LaneShard
from consumers.sharding.resharding import reshard_snapshots
from consumers.sharding.score_exchange import StoppedError
from consumers.sharding.snapshot_folders import shard_folder, stream_folder
from consumers.snapshot_copies.copies import SnapshotCopies
from consumers.stream_settings import StreamSettings
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

MAX_BYTES_PER_TRANSACTION = 4 << 20
STANDSTILL_SECONDS = 5.0


class LearnerWorker:
    """Follows the log of one stream with all whole lanes, with one lane, or with one shard."""

    def __init__(
        self,
        config: Config,
        stream: StreamSettings,
        worker_metrics: WorkerMetrics,
        metrics: LearnerMetrics,
        page: LearnerPage,
        owner: LaneOwner,
        only: str | None = None,
        assignment: ShardAssignment | None = None,
        auto_trim: AutoTrim | None = None,
    ) -> None:
        self._config = config
        self._stream = stream
        self._health, self._lag = worker_metrics.health, worker_metrics.lag
        self._metrics = metrics
        self._page = page
        self._owner = owner
        lanes = [lane for lane in stream.whole_lanes if only in (None, lane.parsed.name)]
        self._shard: LaneShard | None = None
        if assignment is not None:
            lanes = [lane for lane in stream.divided_lanes if lane.parsed.name == assignment.lane]
            self._shard = LaneShard(config, stream, assignment)
        self._all_specs = resolved([lane.parsed for lane in stream.lanes])
        names = [lane.parsed.name for lane in lanes]
        self._specs = {spec.name: spec for spec in self._all_specs if spec.name in names}
        publishes = assignment is None or assignment.publishes
        self._published_lanes = [lane.parsed.name for lane in lanes if lane.publish and publishes]
        whole = [ShardAssignment(lane, 0, 1) for lane in self._specs]
        self._assignments = [assignment] if assignment else whole
        self._stream_folder = stream_folder(config, stream)
        folder = shard_folder(self._stream_folder, self._assignments[0])
        self._snapshots = SnapshotFolder(folder, config.snapshots.keep)
        self._copies = SnapshotCopies(config, stream, folder, metrics)
        self._auto_trim = auto_trim
        self._schedule = SnapshotSchedule(
            self._snapshots,
            config.snapshots.every_seconds,
            assignment is not None,
            metrics,
            self._snapshot_written,
        )
        # By lane: the offset that it had reached before this start. Its counters are shown from
        # there on, so that they never go backwards.
        self._shown_from: dict[str, int] = {}
        self._log_identity = ""
        self._initial_digests: dict[str, str] = {}  # of the model that the stream begins with
        self._input_end = InputEnd(config, stream)
        self._last_end: int | None = None  # of the log, once the whole input is in it
        self._followers = LogFollowers(list(self._specs))
        self._catch_up_records = 1
        self._records = self._documents = 0  # since the start of this worker
        specs = list(self._specs.values())
        warm_up(
            [*specs, *helpers_of(specs, self._all_specs)], Tokenizer(stream.profile), log.info,
            as_shards=assignment is not None,
        )  # fmt: skip
        warm_up_encoder()

    def run(self, stop: threading.Event) -> None:
        """Recover, then follow the log until asked to stop; then publish and take a snapshot."""
        self._schedule.check_folder()
        self._metrics.begin()
        self._health.ready = False
        self._publisher = Publisher(
            self._config.kafka, self._stream, self._published_lanes, self._owner,
            ClockCheck(self._health.set_clock_ahead), stop,
            self._metrics.committed,
        )  # fmt: skip
        try:
            self._recover(stop)
            while not stop.is_set() and not self._is_done():
                self._step()
            self._publisher.settle()
            self._schedule.finish()  # otherwise the last snapshot would be postponed
            self._take_snapshot(only_here=self._shard is not None)
            self._schedule.finish()
            if self._auto_trim is not None:
                self._auto_trim.finish()
            self._log_stop()
        except BrokerAwayError:
            log.warning("stopped without a last snapshot and commit: the broker does not answer")
        except StoppedError as stopped:
            log.warning("stopped without a last snapshot: %s", stopped)
        finally:
            self._publisher.close()
            self._copies.close()
            if self._shard is not None:
                self._shard.close()
            if self._last_end is None:
                self._page.interrupt()
            else:
                self._page.end()
            self._followers.close()

    def _log_stop(self) -> None:
        """Log what was done since the start, and where the next start continues."""
        positions = ", ".join(f"{lane} {at}" for lane, at in self._followers.positions().items())
        log.info(
            "stopped: %s records of the log with %s documents processed; all rankings are "
            "published, and the next start continues at these offsets: %s",
            f"{self._records:,}", f"{self._documents:,}", positions,
        )  # fmt: skip

    def _recover(self, stop: threading.Event) -> None:
        """Restore each lane at its offset of the log."""
        self._log_identity = topic_identity(self._config.kafka, self._stream.blocks)
        lanes = [assignment.lane for assignment in self._assignments]
        self._copies.fetch(lanes, self._log_identity, stop, self._health.moved)
        self._copies.start()
        for assignment in self._assignments:
            settings = self._specs[assignment.lane].settings
            reshard_snapshots(
                self._stream_folder, self._snapshots.keep, assignment, self._log_identity, settings
            )
        shard = None if self._shard is None else self._shard.assignment
        initial = read_initial_model(self._stream, shard)
        specs = list(self._specs.values())
        initial.check([*specs, *helpers_of(specs, self._all_specs)])
        self._initial_digests = initial.digests
        self._publisher.start()
        published = self._publisher.published
        # Asked only now: a predecessor of this worker may have followed the log, and taken
        # snapshots, until the publisher took its place.
        described = describe_log(self._config.kafka, self._stream.blocks)
        recovery = Recovery(
            self._snapshots, described, published, self._new_follower,
            self._publisher.without_offset, initial, self._begin if self._may_be_late(described)
            else None, self._stream.profile,
        )  # fmt: skip
        followers = recovery.followers(list(self._specs))
        self._metrics.snapshot_problem("damaged", len(recovery.damaged))
        for follower in followers:
            reader = LogReader(self._config.kafka, self._stream.blocks, follower.position)
            self._followers.add(LogFollower(follower, reader))
            if self._shard is not None:
                self._shard.open(follower, reader, described.identity, stop, self._wait_for_shards)
                self._schedule.resume(follower.snapshot_content.get("period"))
        # A published lane has shown nothing beyond its committed offset, and no lane has shown
        # anything beyond the end of the log.
        self._metrics.began(
            {lane: follower.began for follower in followers for lane in follower.names}
        )
        self._shown_from = {lane: published.get(lane, described.end) for lane in self._specs}
        self._merge_followers()
        self._update_metrics([])

    def _may_be_late(self, described: LogDescription) -> bool:
        """Whether the log is trimmed, or may be by the time that a new lane has a snapshot."""
        return described.first > 0 or self._stream.log.is_trimmed

    def _begin(self, follower: Follower) -> None:
        """Let a follower without a snapshot begin where the log does."""
        LaneStart(self._config, self._stream, self._snapshots, self._snapshot_of).begin(follower)

    def _wait_for_shards(self, seconds: float) -> None:
        """Report health while other shards are waited for: alive, but not ready for long."""
        self._health.moved()
        if seconds > STANDSTILL_SECONDS:
            self._health.ready = False

    def _new_follower(self, lanes: Sequence[str]) -> Follower:
        specs = [self._specs[lane] for lane in self._specs if lane in lanes]
        build = LaneSpec.build if self._shard is None else self._shard.build
        settings = self._stream.engine_settings()
        helpers = helpers_of(specs, self._all_specs)
        return Follower(Engine(specs, self._stream.topics, settings, build=build, helpers=helpers))

    def _step(self) -> None:
        """Follow the log a little: first the lanes that are behind, then the foremost."""
        foremost = self._followers.foremost
        self._health.moved()
        any_behind = False
        for following in self._followers.others:
            missing = foremost.follower.position - following.follower.position
            if not missing:
                continue  # it began at another offset, and is at the front as well
            any_behind = True
            began = time.monotonic()
            self._advance(following, min(self._catch_up_records, missing), POLL_MS)
            seconds = time.monotonic() - began
            self._catch_up_records = next_catch_up_records(self._catch_up_records, seconds)
        timeout_ms = 0 if any_behind else POLL_MS
        before = foremost.follower.position
        self._advance(foremost, MAX_RECORDS, timeout_ms)
        records_arrived = foremost.follower.position > before
        self._lag.polled(foremost.reader.positions())
        self._merge_followers()
        self._publisher.check()
        self._publisher.refresh_offsets()
        if self._schedule.is_due(self._followers.positions(), records_arrived):
            self._take_snapshot()

    def _is_done(self) -> bool:
        """Whether all lanes are at the end of a log that nothing is added to any more."""
        if self._last_end is None and self._input_end.is_reached():
            self._last_end = describe_log(self._config.kafka, self._stream.blocks).end
        return self._last_end is not None and all(
            following.follower.position >= self._last_end for following in self._followers
        )

    def _advance(self, following: LogFollower, max_records: int, timeout_ms: int) -> None:
        """Rank and learn the next records, and publish their rankings."""
        follower = following.follower
        batches: list[LaneRankings] = []
        blocks: list[LearnedBlock] = []
        for messages in self._next_blocks(following, max_records, timeout_ms):
            if self._schedule.is_due_before(messages[0].timestamp):
                self._publish(follower, batches, blocks)
                self._take_snapshot()
                batches, blocks = [], []
            self._health.moved()  # a lane that trains often takes long
            began, documents = time.perf_counter(), follower.engine.documents
            # Shards must cut the log into the same segments, whether a page is shown or not.
            to_explain = 0 if self._shard is not None else self._page.wanted(follower)
            batches += follow_block(follower, messages, to_explain, self._page, self._publisher)
            seconds, documents = time.perf_counter() - began, follower.engine.documents - documents
            arrived = (follower.arrived or messages[0].timestamp) / 1000
            blocks.append(LearnedBlock(documents, seconds, arrived))
            self._records += len(messages)
            self._documents += documents
            self._page.advance(follower, following.reader.end)
            if sum(batch.size for batch in batches) > MAX_BYTES_PER_TRANSACTION:
                self._publish(follower, batches, blocks)
                batches, blocks = [], []
        if blocks:
            self._publish(follower, batches, blocks)
        else:
            self._page.idle(follower, following.reader.end)

    def _next_blocks(
        self, following: LogFollower, max_records: int, timeout_ms: int
    ) -> Iterator[list[Message]]:
        """Yield the records of the next blocks: whole lanes take one record at a time."""
        if self._shard is not None:
            yield from self._shard.next_blocks(timeout_ms, self._schedule.is_due_between)
        else:
            for message in following.reader.poll(max_records, timeout_ms):
                yield [message]

    def _publish(
        self, follower: Follower, batches: Sequence[LaneRankings], blocks: Sequence[LearnedBlock]
    ) -> None:
        """Publish the rankings of some blocks; the metrics show the blocks after that."""
        if blocks:
            self._publisher.publish(batches, follower.names, follower.position)
            self._update_metrics(blocks)

    def _update_metrics(self, blocks: Sequence[LearnedBlock]) -> None:
        """Show the lanes that are again where they were before this start.

        The metrics take effect when everything up to now is published.
        """
        engines = [
            following.follower.engine
            for following in self._followers
            if self._has_caught_up(following)
        ]
        if engines:
            self._metrics.learned(engines, blocks)
            self._health.ready = True

    def _merge_followers(self) -> None:
        """Merge followers that have caught up, and show on the page who is behind."""
        self._followers.merge()
        foremost = self._followers.foremost
        # Lanes that began later never join the foremost; they are behind until they catch up.
        others = [
            one.follower
            for one in self._followers.others
            if one.follower.began == foremost.follower.began or not self._has_caught_up(one)
        ]
        self._page.show(foremost.follower, foremost.reader.end, others)

    def _has_caught_up(self, following: LogFollower) -> bool:
        return all(
            following.follower.position >= self._shown_from[lane]
            for lane in following.follower.names
        )

    def _take_snapshot(self, only_here: bool = False) -> None:
        """Take a snapshot of all lanes; it is written while the work goes on.

        `only_here` says that the other shards take none at this offset. Such a snapshot is deleted
        as soon as there is a newer one.
        """
        if not self._schedule.can_begin():
            return
        self._publisher.settle()
        snapshots = []
        for follower in (following.follower for following in self._followers):
            extra: dict[str, object] = {}
            if self._shard is not None:
                extra.update(self._shard.snapshot_content(follower))
                extra["period"] = self._schedule.period
            if only_here:
                extra["passing"] = True
            snapshots.append(self._snapshot_of(follower, **extra))
        self._schedule.write(snapshots, self._followers.positions())

    def _snapshot_of(self, follower: Follower, **extra: object) -> Snapshot:
        """Take the snapshot of a follower whose lanes have published everything so far."""
        if self._initial_digests:
            extra["initial"] = self._initial_digests
        return follower.snapshot(
            log=self._log_identity,
            published=[lane for lane in follower.names if lane in self._published_lanes],
            profile=self._stream.profile,
            **extra,
        )

    def _snapshot_written(self, path: Path) -> None:
        """Copy a new snapshot, and trim the log behind it, if the settings say so."""
        self._copies.offer(path)
        if self._auto_trim is not None:
            self._auto_trim.begin()
