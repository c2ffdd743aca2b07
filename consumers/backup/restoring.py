"""Restores a stream from a backup: checks that nothing is overwritten, then sets where it begins.

What is done depends on the log of the stream:

- The log of the backup is still there: then only snapshots were lost. The backup is written to the
  snapshot folder, as the snapshot that it was made of.
- There is no log, or an empty one: then a new log begins with the backup as the stream's `initial`
  model. The tokenizers' group gets the offsets up to which the old log had the documents. That is
  the last step and a single request, so a restore that was interrupted can be repeated.
- The log is another one, and has records: then nothing is done.

All checks come first. Anything that would be overwritten or mixed with the backup is refused.
"""

from __future__ import annotations

import filecmp
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from consumers.backup.errors import BackupError
from consumers.backup.groups import (
    commit_starts,
    refuse_members,
    reset_lanes,
    stale_lane_groups,
)
from consumers.backup.topics import DocumentOffsets, check_documents, record_count
from consumers.kafka.log_reader import LogDescription, describe_log
from consumers.kafka.offsets import committed_offsets
from consumers.kafka.topics import ensure_topics, topic_identity, topic_plans
from consumers.kafka_names import tokenizer_consumer_group
from consumers.learner.initial_model import check_profile, read_initial_model
from consumers.settings import Config
from consumers.sharding.resharding import any_snapshot
from consumers.sharding.snapshot_folders import stream_folder
from consumers.stream_settings import StreamSettings
from consumers.trimming.survey import survey_snapshots
from learners.specs import resolved
from pipeline.engine.engine import Engine
from pipeline.errors import UsageError
from pipeline.models.backup import BackupPlace, place_of, snapshot_in_log
from pipeline.models.model import model_of
from pipeline.models.model_file import read_whole
from pipeline.snapshots.folder import SnapshotFolder, VerifiedFiles
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import MismatchError, Snapshot
from pipeline.storage.container import DamagedError


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was read from a file, every byte of it checked."""

    path: Path
    snapshot: Snapshot
    place: BackupPlace


def read_backup(path: Path) -> Backup:
    """Read a backup; raises `BackupError` if the file is none, or is damaged."""
    try:
        snapshot = read_whole(path)
        return Backup(path, snapshot, place_of(snapshot.content, str(path)))
    except (UsageError, DamagedError) as error:
        raise BackupError(str(error)) from None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a restore would do; everything is checked."""

    new_log: bool
    starts: DocumentOffsets  # of a new log: where its tokenizers begin
    steps: list[str]  # for people


class Restore:
    """Restores one stream."""

    def __init__(
        self, config: Config, stream: StreamSettings, backup: Backup, rank_again: bool = False,
        left_out: Sequence[str] = (),  # lanes of the configuration that are not in `stream`
    ) -> None:  # fmt: skip
        self._config = config
        self._stream = stream
        self._backup = backup
        self._rank_again = rank_again
        self._left_out = left_out
        self._group = tokenizer_consumer_group(stream.name)
        self._folder = stream_folder(config, stream)

    def plan(self) -> Plan:
        """Check everything; raises `BackupError` if something stands in the way."""
        place = self._backup.place
        if place.stream != self._stream.name:
            raise BackupError(
                f"{self._backup.path} is a backup of stream {place.stream}, not of "
                f"{self._stream.name}: groups and Kafka topics go by that name, so keep it."
            )
        self._check_state()
        refuse_members(self._config.kafka, self._group)
        described = self._log()
        if described is not None and described.identity == place.log:
            self._check_no_snapshots([lane.parsed.name for lane in self._stream.lanes])
            return self._plan_same_log(described)
        self._check_no_snapshots(None)
        if described is not None and described.end > 0:
            raise BackupError(
                f"the Kafka topic {self._stream.blocks} is another log than that of the backup, "
                f"and has records up to offset {described.end}: the stream has begun again since. "
                "Stop it, and name another Kafka topic for `blocks`, or delete this one."
            )
        return self._plan_new_log()

    def carry_out(self, plan: Plan) -> None:
        """Do what was planned."""
        if not plan.new_log:
            folder = SnapshotFolder(self._folder, self._config.snapshots.keep)
            folder.write(snapshot_in_log(self._backup.snapshot))
            return
        ensure_topics(self._config.kafka, self._stream)
        if self._rank_again:
            reset_lanes(self._config.kafka, self._stream)
        commit_starts(self._config.kafka, self._group, plan.starts)

    def _log(self) -> LogDescription | None:
        if not topic_identity(self._config.kafka, self._stream.blocks):
            return None
        return describe_log(self._config.kafka, self._stream.blocks)

    def _check_state(self) -> None:
        """Restore the lanes of the configuration in memory: they fit, and every array is good."""
        specs = resolved([lane.parsed for lane in self._stream.lanes])
        known = self._backup.snapshot.all_lanes
        missing = [spec.name for spec in specs if spec.name not in known]
        if missing:
            raise BackupError(
                f"the backup has no lane {', '.join(missing)}. It has {', '.join(known)}. A lane "
                "that is not in the backup has nothing to begin with: leave it out of the "
                "configuration; or, if another backup has it, give --without LANE."
            )
        engine = Engine(specs, self._stream.topics, self._stream.engine_settings())
        try:
            check_profile(self._stream, model_of(self._backup.snapshot))
            restore_engine(engine, self._backup.snapshot)
        except (MismatchError, DamagedError, UsageError) as error:
            raise BackupError(str(error)) from None
        finally:
            engine.close()

    def _check_no_snapshots(self, lanes: Sequence[str] | None) -> None:
        """Raise `BackupError` if there are snapshots of these lanes, or of any lane (None).

        The snapshots of other lanes can stay, if the log of the backup is there.
        """
        found = any_snapshot(self._folder)
        if found and lanes is not None:
            survey = survey_snapshots(self._folder, VerifiedFiles())
            found = bool(survey.damaged) or any(survey.of_lane(lane) for lane in lanes)
        if found:
            raise BackupError(
                f"{self._folder.absolute()} holds snapshots of the stream. If they are good, no "
                "restore is needed; otherwise move the folder away."
            )

    def _plan_same_log(self, described: LogDescription) -> Plan:
        place = self._backup.place
        if not described.first <= place.position <= described.end:
            raise BackupError(
                f"the log {described.topic} has records from offset {described.first} to "
                f"{described.end}, but the backup is of offset {place.position}: use a newer "
                "backup, or delete the Kafka topic to begin a new log with this one."
            )
        lanes = [lane.parsed.name for lane in self._stream.lanes]
        try:
            read_initial_model(self._stream).check_restored({"initial": place.initial}, lanes)
        except (MismatchError, DamagedError) as error:
            raise BackupError(f"the log of the backup is still there. {error}") from None
        steps = [
            f"use the log {described.topic} as it is, because it is the one of the backup",
            f"write a snapshot at offset {place.position} of the log to {self._folder.absolute()}",
        ]
        return Plan(new_log=False, starts={}, steps=steps)

    def _plan_new_log(self) -> Plan:
        if self._left_out:
            raise BackupError(
                "the log is lost, so a new one begins with the backup, and every lane of the "
                f"stream with it. Take lane {', '.join(self._left_out)} out of the configuration."
            )
        self._check_initial()
        starts = check_documents(self._config.kafka, self._stream, self._backup.place)
        self._check_nothing_there(starts)
        planned = [plan.name for plan in topic_plans(self._stream)]
        new = ", ".join(name for name in planned if name in self._stream.written_topics)
        steps = [
            f"create those of these Kafka topics that are missing: {new}",
            f"begin a new log with {self._backup.path} as the state of all lanes",
            *(
                f"read {partition.topic}[{partition.partition}] from offset {start.offset} on"
                for partition, start in starts.items()
            ),
        ]
        return Plan(new_log=True, starts=starts, steps=steps)

    def _check_initial(self) -> None:
        """A new log begins with the backup, for as long as there is the log."""
        initial = self._stream.initial
        same = initial is not None and initial.is_file()
        if not same or not filecmp.cmp(str(initial), str(self._backup.path), shallow=False):
            raise BackupError(
                f"the log of stream {self._stream.name} is lost, so a new one begins, with the "
                f'backup. Write into its [[streams]]: initial = "{self._backup.path.absolute()}" '
                "(wirerank restore FILE --print-config does so), and keep the file as long as "
                "the stream."
            )

    def _check_nothing_there(self, starts: DocumentOffsets) -> None:
        """Refuse offsets and rankings of a stream that has gone on after the backup."""
        problems = []
        wanted = {partition: start.offset for partition, start in starts.items()}
        committed = committed_offsets(self._config.kafka, self._group)
        found = {partition: at.offset for partition, at in committed.items()}
        if found and found != wanted:
            problems.append(f"the group {self._group} has committed offsets")
        problems += [
            f"the group {group} has a committed offset"
            for group in stale_lane_groups(self._config.kafka, self._stream)
        ]
        count = record_count(self._config.kafka, self._stream.rankings)
        if count:
            problems.append(f"{self._stream.rankings} has {count:,} records")
        if problems and not self._rank_again:
            raise BackupError(
                f"the stream has gone on after its log began: {'; '.join(problems)}. Documents "
                "after the backup would be ranked a second time. If readers of the rankings can "
                "take that, or the rankings are lost too, give --rank-again."
            )
