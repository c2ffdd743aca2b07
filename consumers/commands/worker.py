"""What `tokenize` and `learn` share: metrics, and running until asked to stop."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import typer

from consumers.settings import Config, ConfigError
from consumers.stream_settings import StreamSettings
from consumers.supervisor_link import SupervisorLink
from pipeline.commands.failure import fail
from pipeline.errors import UsageError
from pipeline.metrics.health import Health
from pipeline.metrics.scrape_target import ScrapeTarget, target_address

if TYPE_CHECKING:
    from consumers.worker_loop import Worker
    from consumers.worker_metrics import WorkerMetrics

log = logging.getLogger(__name__)

Role = Literal["learner", "tokenizer"]


class ServedWorker:
    """A worker's name, its metrics, and the file that tells Prometheus where they are."""

    def __init__(
        self, config: Config, stream: StreamSettings, role: Role, instance: str, worker: str
    ) -> None:
        self.metrics = serve_metrics(config, stream, role, instance)
        self.health = self.metrics.health
        self._target = announce(config, stream, role, worker, self.metrics.port)

    def stopped(self) -> None:
        """Take note that the worker stops in good order, and is not to be looked for."""
        if self._target is not None:
            self._target.withdraw()


def announce(
    config: Config, stream: StreamSettings, role: Role, worker: str, port: int
) -> ScrapeTarget | None:
    """Write where a worker serves its metrics, if there is a folder for that."""
    folder = config.metrics.targets_folder
    if folder is None:
        return None
    address = target_address(config.metrics.host, port)
    try:
        return ScrapeTarget(
            folder, f"wirerank-{role}", worker, stream.name, address, config.metrics.scheme
        )
    except OSError as error:
        log.warning(
            "metrics.targets_folder = %s cannot be written (%s), so Prometheus does not find this "
            "worker by it", folder, error.strerror,
        )  # fmt: skip
        return None


def serve_metrics(
    config: Config, stream: StreamSettings, role: Role, instance: str
) -> WorkerMetrics:
    """Serve the metrics of a worker at its port; ends with a message if the port cannot be used."""
    from consumers.worker_metrics import WorkerMetrics  # noqa: PLC0415 - slow to import

    try:
        port = config.metrics.port_of(config.streams.index(stream), role, instance)
        metrics = WorkerMetrics(config.metrics, stream, port)
    except (ConfigError, UsageError, ValueError) as error:
        fail(str(error))
    log.info("metrics = %s", metrics.url)
    return metrics


def wait_alive(stop: threading.Event, health: Health) -> None:
    """Wait for the stop, and report that this process is alive."""
    while not stop.wait(1.0):
        health.moved()


def work(
    config: Config,
    stream: StreamSettings,
    served: ServedWorker,
    supervisor: SupervisorLink | None,
    new_worker: Callable[[], Worker],
    has_page: bool = False,
) -> None:
    """Run a worker until it is asked to stop, or until it fails in a way that needs an operator.

    A worker that has a `supervisor` also ends when that has ended. A worker of a stream with a
    `stop` ends when it has done everything, but a page stays.
    """
    from consumers import worker_loop as workers  # noqa: PLC0415 - slow to import
    from consumers.kafka.topics import ensure_topics  # noqa: PLC0415
    from consumers.supervisor import NEEDS_AN_OPERATOR  # noqa: PLC0415

    health = served.health
    stop = workers.stopped_by_signals()
    if supervisor is not None:
        supervisor.attach(stop, health)

    def prepared() -> Worker:
        health.ready = False
        ensure_topics(config.kafka, stream)
        return new_worker()

    try:
        workers.keep_working(prepared, stop)
        if not stop.is_set():
            log.info("the input of the stream has ended: stop = %s", stream.stop)
            if has_page:
                log.info("the live page stays until Ctrl-C or SIGTERM")
                wait_alive(stop, health)
        served.stopped()
    except workers.FATAL as error:
        log.error("%s", error)
        raise typer.Exit(NEEDS_AN_OPERATOR) from None
    except Exception:
        log.critical("the worker failed in a way that was not foreseen", exc_info=True)
        raise typer.Exit(1) from None
