"""Brings all lanes of a stream to one offset of the log, beside the workers, for a backup.

Each lane is restored from its newest snapshot, as a worker restores it after a crash. Shards of a
lane are joined. The foremost lane decides the offset, and the others follow the log up to there.
Nothing is written: neither to Kafka nor to the snapshot folder.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path

from consumers.assignment import ShardAssignment
from consumers.backup.errors import BackupError
from consumers.kafka.log_reader import LogDescription, LogReader
from consumers.learner.initial_model import InitialModel
from consumers.learner.recovery import Recovery
from consumers.settings import Config, KafkaSettings
from consumers.sharding.resharding import UsableSnapshots, shard_snapshot
from consumers.sharding.snapshot_folders import stream_folder
from consumers.stream_settings import StreamSettings
from learners.sharding.exchange import DisagreementError
from learners.specs import LaneSpec, helpers_of, resolved
from pipeline.engine.engine import Engine
from pipeline.follower import Follower
from pipeline.snapshots.folder import SnapshotFolder, read_snapshot
from pipeline.snapshots.snapshot import Snapshot
from pipeline.storage.container import DamagedError

log = logging.getLogger(__name__)

RECORDS_PER_POLL = 64
SILENCE_SECONDS = 60.0


class LaneStates:
    """The lanes of a stream, restored from its snapshots."""

    def __init__(
        self, config: Config, stream: StreamSettings, described: LogDescription,
        initial: InitialModel,
    ) -> None:  # fmt: skip
        self._config = config
        self._stream = stream
        self._log = described
        self._initial = initial
        self._specs = resolved([lane.parsed for lane in stream.lanes])
        self._folder = stream_folder(config, stream)

    def at_one_offset(self) -> Follower:
        """All lanes at the offset of the newest snapshot.

        Raises `BackupError` if there is no snapshot, and what workers raise that cannot start.
        """
        divided = [lane.parsed.name for lane in self._stream.divided_lanes]
        followers = [found for lane in divided if (found := self._joined(lane)) is not None]
        joined = [name for follower in followers for name in follower.names]
        others = [spec.name for spec in self._specs if spec.name not in joined]
        if others:
            recovery = Recovery(
                SnapshotFolder(self._folder), self._log, {}, self._new_follower,
                initial=self._initial,
            )  # fmt: skip
            followers += recovery.followers(others)
        check_beginnings(followers)
        position = max(follower.position for follower in followers)
        if position == 0:
            raise BackupError(
                f"{self._folder.absolute()} has no snapshot of stream {self._stream.name} that "
                "fits its log: nothing was learned yet, or the learners keep their snapshots on "
                "another machine. Wait for snapshots.every_seconds, or back up there."
            )
        for follower in followers:
            if follower.position < position:
                log.info(
                    "%s: following the log from offset %s to %s, where the other lanes are",
                    ", ".join(follower.names), follower.position, position,
                )  # fmt: skip
                follow_to(follower, self._config.kafka, self._stream.blocks, position)
        first, *rest = followers
        for follower in rest:
            first.merge(follower, [spec.name for spec in self._specs])
        return first

    def _new_follower(self, lanes: Sequence[str]) -> Follower:
        specs = [spec for spec in self._specs if spec.name in lanes]
        helpers = helpers_of(specs, self._specs)
        settings = self._stream.engine_settings()
        return Follower(
            Engine(
                specs, self._stream.topics, settings, build=LaneSpec.build, helpers=helpers
            )
        )  # fmt: skip

    def _joined(self, lane: str) -> Follower | None:
        """A lane with shards, joined from their newest snapshots at one offset, if there are any.

        A lane that had no shards before has a snapshot of its own.
        """
        (spec,) = (spec for spec in self._specs if spec.name == lane)
        usable = UsableSnapshots(lane, self._log.identity, spec.settings)
        for division in sorted(usable.divisions(self._folder), reverse=True):
            if division.position > self._log.end:
                continue
            follower = self._new_follower([lane])
            try:
                follower.restore(joined_shards(division.paths, lane))
            except (DamagedError, DisagreementError, OSError) as error:
                follower.engine.close()
                log.warning("lane %s: skipped a snapshot: %s", lane, error)
                continue
            self._initial.check_restored(follower.snapshot_content, [lane])
            return follower
        return None


def check_beginnings(followers: Sequence[Follower]) -> None:
    """Raise `BackupError` if lanes began at different offsets of the log.

    A model has one vocabulary for all its lanes.
    """
    began = {follower.began: ", ".join(follower.names) for follower in followers}
    if len(began) > 1:
        places = "; ".join(f"{names} at offset {at}" for at, names in sorted(began.items()))
        raise BackupError(
            f"lanes began at different offsets of the log ({places}), because some were added "
            "after it was trimmed. They share no vocabulary, so one file cannot hold them. Make "
            "one backup for each beginning, and leave out the other lanes (--without LANE)."
        )


def joined_shards(paths: Sequence[Path], lane: str) -> Snapshot:
    """The snapshot of a whole lane, made of those of its shards."""
    return shard_snapshot([read_snapshot(path) for path in paths], ShardAssignment(lane, 0, 1))


def follow_to(follower: Follower, kafka: KafkaSettings, topic: str, position: int) -> None:
    """Follow the log up to an offset, without publishing anything."""
    reader = LogReader(kafka, topic, follower.position)
    heard = time.monotonic()
    try:
        while follower.position < position:
            missing = position - follower.position
            for message in reader.poll(min(RECORDS_PER_POLL, missing)):
                name = f"{message.topic}[{message.partition}] offset={message.offset}"
                for _ in follower.follow(message.value or b"", message.offset, name):
                    pass
                heard = time.monotonic()
            if time.monotonic() - heard > SILENCE_SECONDS:
                raise BackupError(
                    f"the broker has sent no record of {topic} after offset {follower.position} "
                    f"for {SILENCE_SECONDS:.0f} s, but there must be records up to {position}: try "
                    "again when the broker is well."
                )
    finally:
        reader.close()
