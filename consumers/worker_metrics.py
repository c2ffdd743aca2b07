"""The metrics of a worker process: one registry, one health state and one port."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from consumers.assignment import ShardAssignment
from consumers.settings import MetricsSettings
from consumers.stream_settings import StreamSettings
from pipeline.metrics.collectors import LagMetrics, LearnerMetrics, ProcessMetrics, TokenizerMetrics
from pipeline.metrics.health import Health
from pipeline.metrics.log_metrics import LogMetrics
from pipeline.metrics.server import MetricsServer


class WorkerMetrics:
    """The metrics of a worker process, at a port that stays open when the worker restarts."""

    def __init__(self, settings: MetricsSettings, stream: StreamSettings, port: int) -> None:
        registry = CollectorRegistry()
        self.health = Health()
        ProcessMetrics(registry, self.health)
        self.lag = LagMetrics(registry, stream.name)
        self._registry, self._stream, self._topics = registry, stream.name, settings.topics
        self._server = MetricsServer(registry, self.health, settings.host, port, settings.access())
        self.url = f"{self._server.url}/metrics"
        self.port = self._server.port

    def learner_metrics(self, assignment: ShardAssignment | None = None) -> LearnerMetrics:
        """The metrics of a learner, or of one shard; to be called once per process."""
        shard, publishes = (
            (str(assignment.shard), assignment.publishes) if assignment else ("0", True)
        )
        return LearnerMetrics(
            self._registry, self._stream, shard, topics=self._topics, speaks=publishes
        )

    def log_metrics(self) -> LogMetrics:
        """The metrics of the log, for the learner that trims it; to be called once per process."""
        return LogMetrics(self._registry, self._stream)

    def tokenizer_metrics(self) -> TokenizerMetrics:
        """The metrics of a tokenizer; to be called once per process."""
        return TokenizerMetrics(self._registry, self._stream)

    def close(self) -> None:
        """Stop serving."""
        self._server.close()
