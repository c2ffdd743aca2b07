"""Trims the log of a stream after snapshots, in a thread of its own.

One learner does it: the one that has the first lane of the configuration (of a divided lane, shard
0). A trim that fails or is not possible stops nothing: it is logged and counted, and tried again
after the next snapshot.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from consumers.assignment import ShardAssignment
from consumers.kafka.errors import KafkaError, describe_error
from consumers.kafka.log_reader import LogError
from consumers.settings import Config, ConfigError
from consumers.stream_settings import StreamSettings
from consumers.task import Task
from consumers.trimming.log_start import LogBusyError
from consumers.trimming.trimmer import Trimmer, TrimPlan
from pipeline.metrics.log_metrics import LogMetrics, TrimmedLog
from pipeline.storage.container import DamagedError

log = logging.getLogger(__name__)

FINISH_SECONDS = 10.0


class AutoTrim:
    """Trims the log of a stream whenever a learner has written its snapshots."""

    def __init__(
        self, read_config: Callable[[], Config], stream: StreamSettings, metrics: LogMetrics
    ) -> None:
        # Read before each trim: lanes may have been added since this process started, and their
        # workers may run already.
        self._read_config = read_config
        self._stream = stream
        self._metrics = metrics
        self._trimmer = Trimmer()
        self._task: Task[None] | None = None
        self._is_due = False
        self._told = ""  # what was logged last of a trim that was not possible

    def begin(self) -> None:
        """Trim in the background, after the trim that is under way."""
        self._is_due = True
        if self._task is None or self._task.done():
            self._task = Task("trimming", self._trim_while_due)

    def finish(self) -> None:
        """Wait a moment for a trim that is under way. One that takes longer ends anywhere."""
        if self._task is not None:
            self._task.done(FINISH_SECONDS)

    def _trim_while_due(self) -> None:
        while self._is_due:
            self._is_due = False
            self._trim()

    def _trim(self) -> None:
        try:
            config = self._read_config()
            stream = self._with_all_lanes(config)
            plan = self._trimmer.trim(config, stream)
        except LogBusyError:
            return  # whoever has the lock trims, too, or looks for a place that must stay
        except (ConfigError, DamagedError, KafkaError, LogError, OSError, TimeoutError) as error:
            reason = str(error) if isinstance(error, LogError) else describe_error(error)
            self._metrics.failed()
            self._tell(f"the log was not trimmed: {reason}")
            return
        except Exception:  # a fault of ours must not be silent, and not stop the stream
            self._metrics.failed()
            log.error("the log was not trimmed", exc_info=True)
            return
        self._show(plan)

    def _with_all_lanes(self, config: Config) -> StreamSettings:
        """The stream as the configuration has it now, and the lanes that this worker was given."""
        now = [stream for stream in config.streams if stream.name == self._stream.name]
        if not now or now[0].blocks != self._stream.blocks:
            raise LogError(
                f"the configuration no longer has stream {self._stream.name} with the log "
                f"{self._stream.blocks}; restart this worker"
            )
        names = {lane.parsed.name for lane in now[0].lanes}
        gone = [lane for lane in self._stream.lanes if lane.parsed.name not in names]
        return now[0].model_copy(update={"lanes": (*now[0].lanes, *gone)})

    def _show(self, plan: TrimPlan) -> None:
        kept = plan.log.end - plan.target
        shown = TrimmedLog(plan.target, kept, kept * plan.record_bytes)
        waited_for = [*plan.blockers, *plan.holders]
        size = plan.records * plan.record_bytes
        self._metrics.trimmed(
            shown, plan.records, size, tuple(sorted({need.lane for need in waited_for})),
            blocked=bool(plan.refusals or plan.holders),
        )  # fmt: skip
        if plan.refusals:
            self._tell(f"the log is not trimmed. {'; '.join(plan.refusals)}")
            return
        if plan.holders:
            lanes = ", ".join(need.lane for need in plan.holders)
            self._tell(
                f"the log is kept from offset {plan.bound} on for {lanes}, which is not in the "
                "configuration but has snapshots. If it will not come back: wirerank trim CONFIG "
                "--forget LANE"
            )
        else:
            self._told = ""
        if plan.records:
            log.info(
                "trimmed the log: %s records, about %s bytes; it begins at offset %s now and has "
                "%s records", f"{plan.records:,}", f"{size:,.0f}", plan.target, f"{kept:,}",
            )  # fmt: skip

    def _tell(self, message: str) -> None:
        """Log why nothing was trimmed, once for each reason."""
        log.log(logging.DEBUG if message == self._told else logging.WARNING, "%s", message)
        self._told = message


def trims(stream: StreamSettings, only: str | None, assignment: ShardAssignment | None) -> bool:
    """Whether this learner is the one that trims the log of its stream."""
    if not stream.log.is_trimmed:
        return False
    first = stream.lanes[0]
    if assignment is not None:
        return assignment.lane == first.parsed.name and assignment.publishes
    return first.shards == 1 and only in (None, first.parsed.name)
