"""Counters of all serving processes, in memory that they share.

Each process writes to a row of its own, so nothing is locked. Any process can sum up the rows, so a
scrape has the numbers of all processes, whichever answers it. A process that is started again goes
on with the row of the one before.
"""

from __future__ import annotations

import mmap
from bisect import bisect_left
from collections.abc import Iterator

import numpy as np
from prometheus_client.core import Metric

from pipeline.metrics.families import EDGES, Family, counter, gauge, histogram

STATUSES = (200, 400, 401, 404, 405, 408, 413, 415, 421, 429, 500, 503)

REQUESTS = counter("serve_requests", ("status",), "Requests that were answered, by HTTP status.")
DOCUMENTS = counter("serve_documents", (), "Documents that were ranked for requests.")
REFUSED = counter("serve_refused_documents", (), "Documents of lists that could not be ranked.")
RELOADS = counter("serve_reloads", (), "Newer models that were taken up, by all processes.")
FAILURES = counter("serve_reload_failures", (), "Newer models that could not be loaded.")
RESTARTS = counter("serve_restarts", (), "Serving processes that died and were started again.")
WAITING = gauge("serve_waiting_requests", (), "Requests that wait for being ranked.")
HELD = gauge("serve_held_bytes", (), "Bytes of requests and answers that are in memory.")
AGE = gauge("serve_model_age_seconds", (), "Age of the oldest model that a process serves.")
SECONDS = histogram("serve_seconds", (), "Time from a whole request to rank until its answer.")
FAMILIES = (
    REQUESTS, DOCUMENTS, REFUSED, RELOADS, FAILURES, RESTARTS, WAITING, HELD, AGE, SECONDS,
)  # fmt: skip

SIMPLE = (DOCUMENTS, REFUSED, RELOADS, FAILURES, RESTARTS, WAITING, HELD, AGE)
SIMPLE_PLACES = {family: len(STATUSES) + i for i, family in enumerate(SIMPLE)}
SUM_PLACE = len(STATUSES) + len(SIMPLE)
BUCKETS_PLACE = SUM_PLACE + 1
WIDTH = BUCKETS_PLACE + len(EDGES) + 1


class ProcessCounters:
    """The numbers of one process."""

    def __init__(self, row: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        self._row = row

    def count_reply(self, status: int, documents: int = 0, refused: int = 0) -> None:
        """Count an answer; a status that is not listed counts as 500."""
        self._row[STATUSES.index(status if status in STATUSES else 500)] += 1
        if documents or refused:
            self._row[SIMPLE_PLACES[DOCUMENTS]] += documents
            self._row[SIMPLE_PLACES[REFUSED]] += refused

    def observe(self, seconds: float) -> None:
        """Count how long an answer took."""
        self._row[SUM_PLACE] += seconds
        self._row[BUCKETS_PLACE + bisect_left(EDGES, seconds)] += 1

    def set(self, family: Family, value: float) -> None:
        """Set a number that this process knows."""
        self._row[SIMPLE_PLACES[family]] = value

    def add(self, family: Family, value: float) -> None:
        """Add to a number."""
        self._row[SIMPLE_PLACES[family]] += value


class Counters:
    """The numbers of all processes; a collector for Prometheus."""

    def __init__(self, processes: int) -> None:
        shared = mmap.mmap(-1, 8 * processes * WIDTH)  # children that are forked share it
        self._rows = np.frombuffer(shared, np.float64).reshape(processes, WIDTH)

    def of(self, process: int) -> ProcessCounters:
        """Return the row of a process."""
        return ProcessCounters(self._rows[process])

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, summed over all processes."""
        sums = self._rows.sum(axis=0)
        requests = new_metric(REQUESTS)
        for place, status in enumerate(STATUSES):
            requests.add_sample(REQUESTS.name, {"status": str(status)}, float(sums[place]))
        yield requests
        for family in SIMPLE:
            place = SIMPLE_PLACES[family]
            value = self._rows[:, place].max() if family is AGE else sums[place]
            metric = new_metric(family)
            metric.add_sample(family.name, {}, float(value))
            yield metric
        metric = new_metric(SECONDS)
        total = 0.0
        for edge, count in zip((*EDGES, None), sums[BUCKETS_PLACE:], strict=True):
            total += float(count)
            bound = "+Inf" if edge is None else str(edge)
            metric.add_sample(f"{SECONDS.name}_bucket", {"le": bound}, total)
        metric.add_sample(f"{SECONDS.name}_count", {}, total)
        metric.add_sample(f"{SECONDS.name}_sum", {}, float(sums[SUM_PLACE]))
        yield metric


def new_metric(family: Family) -> Metric:
    """Return an empty metric."""
    return Metric(family.name.removesuffix("_total"), family.meaning, family.kind)
