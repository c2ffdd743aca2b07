"""The metrics of a stream's log, of the learner that trims it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

from pipeline.metrics import families
from pipeline.metrics.families import Scrape


@dataclass(frozen=True, slots=True)
class TrimmedLog:
    """The log after a trim, or after one that was not possible."""

    first: int
    records: int
    size_bytes: float  # by a sample


class LogMetrics:
    """How much of a log is kept, how much was trimmed, and what trimming waits for."""

    def __init__(self, registry: CollectorRegistry, stream: str) -> None:
        self._stream = stream
        self._log: TrimmedLog | None = None
        self._records, self._bytes, self._trims = 0, 0.0, 0
        self._blockers: tuple[str, ...] = ()
        self._problems = {"blocked": 0, "failed": 0}
        registry.register(self)

    def trimmed(
        self,
        log: TrimmedLog,
        records: int,
        size_bytes: float,
        blockers: tuple[str, ...],
        blocked: bool,
    ) -> None:
        """Show the log after a trim of so many records and bytes, and the lanes that it waits for.

        `blocked`: nothing could be trimmed, because of these lanes or of a damaged file.
        """
        self._log, self._blockers = log, blockers
        self._records, self._bytes = self._records + records, self._bytes + size_bytes
        self._problems["blocked"] += blocked
        self._trims += not blocked

    def failed(self) -> None:
        """Count a trim that failed: the broker refused it or was away, or the disk was full."""
        self._problems["failed"] += 1

    def describe(self) -> Iterable[Metric]:
        """Declare the metrics to the registry."""
        return families.described(families.LOG)

    def collect(self) -> Iterable[Metric]:
        """Return the state after the last trim for a scrape."""
        scrape = Scrape(families.LOG, self._stream)
        if self._log is not None:
            scrape.add(families.LOG_FIRST, self._log.first)
            scrape.add(families.LOG_RECORDS, self._log.records)
            scrape.add(families.LOG_BYTES, self._log.size_bytes)
        scrape.add(families.TRIMMED_RECORDS, self._records)
        scrape.add(families.TRIMMED_BYTES, self._bytes)
        scrape.add(families.TRIMS, self._trims)
        for lane in self._blockers:
            scrape.add(families.TRIM_BLOCKED, 1, lane)
        for reason, times in self._problems.items():
            scrape.add(families.TRIM_PROBLEMS, times, reason)
        return scrape.metrics()
