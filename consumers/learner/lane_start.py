"""Where a lane begins that has no snapshot: at the log's first record, or at the oldest one kept.

If the first records of the log were trimmed, a lane that is new begins at the first offset whose
earlier source offsets are known (`consumers.trimming.log_start`), as if the stream had begun there.
Everything is refused that could be a lane whose position was lost: a guess would leave a gap in
what it learned, or publish rankings twice.

The beginning is a snapshot, written before anything is followed. So a lane that is killed before
its next snapshot begins at the same offset again, shards begin at the same offset, and whoever
trims the log sees that somebody needs it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from consumers.kafka.log_reader import LogDescription, LogError, describe_log
from consumers.settings import Config
from consumers.sharding.snapshot_folders import stream_folder
from consumers.stream_settings import StreamSettings
from consumers.trimming.log_start import LogBusyError, LogMark, log_lock, read_marks
from consumers.trimming.survey import Found, survey_snapshots
from pipeline.follower import Follower
from pipeline.snapshots.folder import VERIFIED, SnapshotFolder
from pipeline.snapshots.snapshot import Snapshot

log = logging.getLogger(__name__)

WHAT_TO_DO = (
    "Restore its snapshots; or leave out the lane; or give it another name (name=...), and it "
    "begins as a new lane"
)


class LaneStart:
    """Begins lanes of a stream that have no snapshot."""

    def __init__(
        self,
        config: Config,
        stream: StreamSettings,
        snapshots: SnapshotFolder,  # of the worker
        take_snapshot: Callable[[Follower], Snapshot],
    ) -> None:
        self._config = config
        self._stream = stream
        self._snapshots = snapshots
        self._take_snapshot = take_snapshot
        self._stream_folder = stream_folder(config, stream)

    def begin(self, follower: Follower) -> None:
        """Let a new follower begin; raises `LogError` if its lanes may not be new."""
        try:
            with log_lock(self._stream_folder):
                described = describe_log(self._config.kafka, self._stream.blocks)
                if described.first > 0:
                    mark = self._beginning(described, follower.names)
                    follower.begin_at(mark.position, mark.new_coverage())
                    self._report(described, follower)
                if described.first > 0 or (described.end > 0 and self._stream.log.is_trimmed):
                    self._snapshots.write(self._take_snapshot(follower))
        except LogBusyError as error:
            raise TimeoutError(str(error)) from None  # the worker tries again
        except OSError as error:
            if follower.began == 0 and not is_trimmed(self._config, self._stream):
                log.warning("the beginning of %s is not kept: %s", names(follower), error)
                return
            raise LogError(
                f"lane {names(follower)} cannot begin in a log whose first records were trimmed: "
                f"its beginning must be kept in {self._snapshots.path}, but: {error}. Make the "
                "folder writable, or leave out the lane."
            ) from None

    def _beginning(self, described: LogDescription, lanes: Sequence[str]) -> LogMark:
        """The first offset at which lanes can begin; raises `LogError` if they may not be new."""
        survey = survey_snapshots(self._stream_folder, VERIFIED)
        damaged = list(survey.damaged)
        marks = read_marks(self._stream_folder, described, damaged)
        gone = f"{described.topic} begins at offset {described.first}: earlier records were deleted"
        if damaged:
            raise LogError(
                f"{gone}, and no usable snapshot of {', '.join(lanes)} replaces them. It may be "
                f"among the files that are damaged: {'; '.join(damaged)}. {WHAT_TO_DO}, once the "
                "damaged files are moved away."
            )
        former = [one for lane in lanes for one in survey.of_lane(lane) if has_learned(one)]
        began = {one.snapshot.began for one in former}
        places: list[LogMark | Found] = [*marks, *survey.of_log(described)]
        for place in sorted(places, key=lambda one: one.position):
            if not began or began == {place.position}:
                with suppress(FileNotFoundError):  # its worker has just removed the snapshot
                    return place.mark()
        if former:
            files = ", ".join(str(one.path) for one in former)
            raise LogError(
                f"{gone}, and {', '.join(lanes)} cannot continue from the snapshots that are left "
                f"({files}). {WHAT_TO_DO}."
            )
        raise LogError(
            f"{gone}, and no usable snapshot of {', '.join(lanes)} replaces them: there is no "
            f"snapshot of this log at all in {self._stream_folder.absolute()}. Is it the right "
            "folder (snapshots.folder)? Restore the snapshots, or start a new log (another Kafka "
            "topic for `blocks`)."
        )

    def _report(self, described: LogDescription, follower: Follower) -> None:
        model = " and with the model `initial`" if self._stream.initial else ""
        log.warning(
            "%s: added after records of the log were trimmed, so it begins at offset %s%s. It "
            "ranks no document before that offset, its learning curve counts rounds from there on, "
            "and it has terms, topics and waiting documents of its own. Compare it with other "
            "lanes over the same period only", names(follower), follower.began, model,
        )  # fmt: skip


def is_trimmed(config: Config, stream: StreamSettings) -> bool:
    """Whether the first records of a log are gone."""
    return describe_log(config.kafka, stream.blocks).first > 0


def names(follower: Follower) -> str:
    """The lanes of a follower, for messages."""
    return ", ".join(follower.names)


def has_learned(one: Found) -> bool:
    """Whether a snapshot has learned anything since its lanes began."""
    return one.snapshot.position > one.snapshot.began
