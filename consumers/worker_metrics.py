"""What Prometheus is told of a worker: one registry, one health and one port a process."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from consumers.assignment import Share
from consumers.config import MetricsSettings, StreamSettings
from pipeline.metrics.collectors import LagMetrics, LearnerMetrics, ProcessMetrics, TokenizerMetrics
from pipeline.metrics.health import Health
from pipeline.metrics.server import MetricsServer


class Observed:
    """Shown by a port that stays open while workers come and go in this process."""

    def __init__(self, settings: MetricsSettings, stream: StreamSettings, port: int) -> None:
        registry = CollectorRegistry()
        self.health = Health()
        ProcessMetrics(registry, self.health)
        self.lag = LagMetrics(registry, stream.name)
        self._registry, self._stream, self._topics = registry, stream.name, settings.topics
        self._server = MetricsServer(registry, self.health, settings.host, port)
        self.url = f"{self._server.url}/metrics"

    def learner(self, share: Share | None = None) -> LearnerMetrics:
        """The metrics of a learner, perhaps of one shard; once a process."""
        shard, speaks = (str(share.shard), share.speaks) if share else ("0", True)
        return LearnerMetrics(
            self._registry, self._stream, shard, topics=self._topics, speaks=speaks
        )

    def tokenizer(self) -> TokenizerMetrics:
        """The metrics of a tokenizer; once a process."""
        return TokenizerMetrics(self._registry, self._stream)

    def close(self) -> None:
        """Serve no more."""
        self._server.close()
