"""Trims the log of a stream: decides what nobody needs any more, and deletes it from Kafka.

In this order, and under the lock of the log:

1. verify all snapshots of the stream, then ask the broker for the bounds of the log and for the
   committed offsets of lanes;
2. the *bound* is the first offset that any lane needs (`needs`). If anything is in doubt, nothing
   is trimmed. `log.keep` may keep more than that, never less;
3. write a mark of the offset that will be the first one (`log_start`);
4. delete the records before it.

What a crash causes: before 4, nothing, for the mark only says what is true anyway; during 4, the
broker has deleted the records or has not. The next trim does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from consumers.kafka.client_types import TopicPartition
from consumers.kafka.log_reader import LogDescription, describe_log
from consumers.kafka.log_storage import (
    cover_up_to,
    delete_before,
    first_offset_since,
    sample_sizes,
)
from consumers.kafka.offsets import committed_offset, published_offset
from consumers.kafka_names import lane_consumer_group
from consumers.settings import Config
from consumers.sharding.snapshot_folders import stream_folder
from consumers.snapshot_copies.object_store import ObjectStore, StoreError
from consumers.stream_settings import StreamSettings
from consumers.trimming.copy_needs import copy_needs
from consumers.trimming.log_start import (
    LogMark,
    log_lock,
    read_marks,
    remove_marks_before,
    write_mark,
)
from consumers.trimming.needs import Need, all_needs
from consumers.trimming.survey import Found, Survey, survey_snapshots
from pipeline.snapshots.folder import VerifiedFiles

# Of an offset that no snapshot has, the records before it must be read to write its mark. One trim
# reads for this long, and the next one goes on from there.
COVER_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class TrimPlan:
    """What a trim would do, and why it does not do more."""

    log: LogDescription
    needs: tuple[Need, ...]
    problems: tuple[str, ...]  # files that are damaged, a store that is away
    keep: str  # the setting
    bound: int  # the first offset that is needed
    target: int  # the offset at which the log begins after the trim
    record_bytes: float  # the mean size of a record

    @property
    def blockers(self) -> list[Need]:
        """The lanes that need everything."""
        return [need for need in self.needs if need.position is None]

    @property
    def records(self) -> int:
        """How many records the trim deletes."""
        return max(0, self.target - self.log.first)

    @property
    def refusals(self) -> list[str]:
        """Why nothing may be trimmed; empty if something may."""
        return [*self.problems, *(f"{need.who}: {need.reason}" for need in self.blockers)]

    @property
    def limits(self) -> list[Need]:
        """The lanes whose need is the bound."""
        return [need for need in self.needs if need.position == self.bound]

    @property
    def holders(self) -> list[Need]:
        """The lanes that alone hold back the trim, if none of them is in the configuration.

        Nobody may run them any more, so the log would grow for ever.
        """
        if self.refusals or not self.needs or self.target < self.bound:
            return []
        return [] if any(need.is_configured for need in self.limits) else self.limits


class Trimmer:
    """Trims the log of one stream; keeps in mind which snapshots it has verified."""

    def __init__(self) -> None:
        self._verified = VerifiedFiles()

    def plan(self, config: Config, stream: StreamSettings, keep: str | None = None) -> TrimPlan:
        """Decide what could be trimmed; changes nothing."""
        return self._planned(config, stream, keep)[0]

    def trim(
        self,
        config: Config,
        stream: StreamSettings,
        keep: str | None = None,
        lock_seconds: float = 0.0,
    ) -> TrimPlan:
        """Trim what nobody needs; returns what was done.

        Raises `LogBusyError` if another process trims, `LogError` if the log is not what it was.
        """
        folder = stream_folder(config, stream)
        with log_lock(folder, lock_seconds):
            plan, survey = self._planned(config, stream, keep)
            if plan.records == 0:
                return plan
            target = self._marked(config, folder, survey, plan)
            if target <= plan.log.first:
                return replace(plan, target=plan.log.first)
            first = delete_before(config.kafka, plan.log, target)
            remove_marks_before(folder, first)
            return replace(plan, target=first)

    def _planned(
        self, config: Config, stream: StreamSettings, keep: str | None
    ) -> tuple[TrimPlan, Survey]:
        folder = stream_folder(config, stream)
        survey = survey_snapshots(folder, self._verified)
        # Asked after the snapshots: none of them is behind the end of the log, or behind the
        # offset that its lane has committed, because a worker went on meanwhile.
        log = describe_log(config.kafka, stream.blocks)
        committed = committed_by_lane(config, stream)
        needs = all_needs(stream.lanes, config.snapshots.keep, folder, survey, log, committed)
        problems = list(survey.damaged)
        if url := config.snapshots.copy_to:
            try:
                needs += copy_needs(ObjectStore(url), stream.lanes, folder, survey, log, committed)
            except StoreError as error:
                problems.append(f"what copies of snapshots need cannot be found out: {error}")
        sizes = sample_sizes(config.kafka, log)
        setting = stream.log if keep is None else stream.log.model_copy(update={"keep": keep})
        plan = TrimPlan(
            log, tuple(needs), tuple(problems), setting.keep, log.first, log.first, sizes.mean
        )
        if plan.refusals or not needs or not setting.is_trimmed:
            return plan, survey
        bound = min(need.position for need in needs if need.position is not None)
        target, limit = bound, setting.limit
        if limit.seconds is not None:
            target = min(target, first_offset_since(config.kafka, log, limit.seconds))
        if limit.bytes is not None:
            target = min(target, sizes.first_of_newest(limit.bytes) if sizes.mean else bound)
        return replace(plan, bound=bound, target=max(log.first, target)), survey

    def _marked(self, config: Config, folder: Path, survey: Survey, plan: TrimPlan) -> int:
        """Write the mark of the offset at which the log is to begin; returns the offset.

        It may be an earlier one, if the records before it cannot all be read in time.
        """
        log, damaged = plan.log, list[str]()
        marks = read_marks(folder, log, damaged)
        if log.first == 0:
            marks.insert(0, LogMark(0, [], log.identity))
        start = nearest(marks, survey.of_log(log), plan.target)
        if start is None:
            # The log was cut by somebody else, and nothing tells what the records before its
            # first one have covered. The mark of a later offset serves the trims to come.
            if not any(mark.position > plan.target for mark in marks):
                later = nearest([], survey.of_log(log), plan.bound)
                if later is not None:
                    write_mark(folder, later)
            return log.first
        coverage = start.new_coverage()
        target = start.position
        if target < plan.target:
            target = cover_up_to(
                config.kafka, log.topic, target, coverage, plan.target, COVER_SECONDS
            )
        if target > log.first:
            write_mark(folder, LogMark(target, coverage.state(), log.identity))
        return target


def nearest(marks: Sequence[LogMark], found: Sequence[Found], position: int) -> LogMark | None:
    """The last mark up to a position, of those written and of those that snapshots are."""
    before = [mark for mark in marks if mark.position <= position]
    best = before[-1] if before else None
    for one in reversed(found):
        if one.snapshot.position > position:
            continue
        if best is not None and one.snapshot.position <= best.position:
            break
        try:
            return one.mark()
        except FileNotFoundError:
            continue  # its worker has just removed it
    return best


def committed_by_lane(config: Config, stream: StreamSettings) -> dict[str, int]:
    """The committed offset of each published lane that has one."""
    place, offsets = TopicPartition(stream.blocks, 0), {}
    for lane in stream.lanes:
        if lane.publish:
            group = lane_consumer_group(stream.name, lane.parsed.name)
            offset = published_offset(committed_offset(config.kafka, group, place))
            if offset is not None:
                offsets[lane.parsed.name] = offset
    return offsets
