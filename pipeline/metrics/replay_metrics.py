"""The metrics of a replay while it runs."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry

from pipeline.engine.engine import Engine
from pipeline.log.block_reader import SourceBlock
from pipeline.metrics.collectors import (
    LearnedBlock,
    LearnerMetrics,
    ProcessMetrics,
    TokenizerMetrics,
)
from pipeline.metrics.health import Health
from pipeline.metrics.server import MetricsServer


class ReplayMetrics:
    """The metrics of a tokenizer and of a learner, because a replay is both in one process.

    The label `stream` is the source. `topics` is the number of topics with metrics of their own.
    """

    def __init__(self, source: str, port: int, topics: int = 0) -> None:
        stream = source.encode("utf-8", "replace").decode()  # names of files may be anything
        registry = CollectorRegistry()
        self.health = Health()
        ProcessMetrics(registry, self.health)
        self._tokenizer = TokenizerMetrics(registry, stream)
        self._learner = LearnerMetrics(registry, stream, topics=topics)
        self._events = 0
        self._server = MetricsServer(registry, self.health, port=port)
        self.url = f"{self._server.url}/metrics"

    def begin(self, engine: Engine, events: int = 0) -> None:
        """Show the engine before its first block, and report the process as ready.

        `events` were read by an earlier run.
        """
        self._events = events
        self._learner.learned([engine])
        self._learner.committed()
        self.health.moved()
        self.health.ready = True

    def block(self, engine: Engine, reading: SourceBlock, seconds: float) -> None:
        """Count a block that was learned in `seconds`, and whose rankings are written."""
        arrived = time.time() - (time.perf_counter() - reading.began)
        documents = len(reading.block.ready)
        self._learner.learned([engine], [LearnedBlock(documents, seconds, arrived)])
        self._learner.committed()
        # Last, because it is scraped first: events that a scrape shows as read are also learned.
        reasons = [letter.refusal.reason for letter in reading.dead_letters]
        self._tokenizer.written(reading.events - self._events, reasons)
        self._events = reading.events

    def close(self) -> None:
        """Stop serving."""
        self.health.ready = False
        self._server.close()
