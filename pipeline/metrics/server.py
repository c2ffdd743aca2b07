"""A small HTTP server per process: /metrics for Prometheus, /healthz and /readyz for probes.

It has no authentication, so it listens on the loopback address unless configured otherwise.
"""

from __future__ import annotations

import errno
import logging
import socket
import socketserver
import sys
import threading
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, NamedTuple

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from pipeline.errors import UsageError
from pipeline.metrics.health import Health

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
MOST_CONNECTIONS = 16  # at once; further connections are closed without an answer
PATIENCE_SECONDS = 10.0  # before a slow client is dropped
TEXT = "text/plain; charset=utf-8"
INDEX = b"Wirerank: /metrics (Prometheus text or OpenMetrics), /healthz, /readyz\n"


class Answer(NamedTuple):
    """An HTTP response."""

    status: int
    content_type: str
    body: bytes


def metrics_answer(registry: CollectorRegistry, accept: str) -> Answer:
    """Return all metrics: in OpenMetrics if the client accepts it, else in Prometheus text."""
    accepted = {part.split(";")[0].strip() for part in accept.split(",")}
    if "application/openmetrics-text" in accepted:
        body = openmetrics.generate_latest(registry)  # type: ignore[no-untyped-call]
        return Answer(200, openmetrics.CONTENT_TYPE_LATEST, body)
    return Answer(200, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(registry))


def health_answer(health: Health) -> Answer:
    """Say whether the process is alive: its main loop turned recently."""
    age = f"the main loop last turned {health.loop_age_s:.1f} s ago"
    if health.alive:
        return Answer(200, TEXT, f"ok: {age}\n".encode())
    return Answer(503, TEXT, f"stuck: {age}, expected within {health.patience_s:g} s\n".encode())


def ready_answer(health: Health) -> Answer:
    """Say whether the process has recovered and follows its stream."""
    if health.ready and health.alive:
        return Answer(200, TEXT, b"ready: following the stream\n")
    return Answer(503, TEXT, b"not ready: starting, recovering, ending or stuck\n")


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = PATIENCE_SECONDS
    server_version, sys_version = "wirerank", ""

    def do_GET(self) -> None:
        answer = self._answer()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_HEAD = do_GET  # noqa: N815 - the name is http.server's

    def _answer(self) -> Answer:
        match self.path.partition("?")[0]:
            case "/metrics":
                return metrics_answer(self.server.registry, self.headers.get("Accept", ""))
            case "/healthz":
                return health_answer(self.server.health)
            case "/readyz":
                return ready_answer(self.server.health)
            case "/":
                return Answer(200, TEXT, INDEX)
            case _:
                return Answer(404, TEXT, b"not found; there is " + INDEX.partition(b": ")[2])

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: one line per scrape would drown everything else."""


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True  # the port of a process that was killed a moment ago
    daemon_threads = True
    block_on_close = False  # a slow client does not delay the end
    request_queue_size = MOST_CONNECTIONS

    def __init__(
        self, address: tuple[str, int], registry: CollectorRegistry, health: Health
    ) -> None:
        self.registry = registry
        self.health = health
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Log errors, except for clients that disconnect."""
        if not isinstance(sys.exception(), OSError):
            log.exception("a request to the metrics server failed")


class MetricsServer:
    """Serves a registry and the health of a process, in its own threads, until it is closed."""

    def __init__(
        self, registry: CollectorRegistry, health: Health, host: str = LOOPBACK, port: int = 0
    ) -> None:
        try:
            self._server = _Server((host, port), registry, health)
        except OSError as error:
            raise UsageError(refusal(host, port, error)) from None
        self.port: int = self._server.server_address[1]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening; responses in progress may be cut off."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> MetricsServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def refusal(host: str, port: int, error: OSError) -> str:
    """Say why the server cannot listen on a port, and what to do."""
    start = f"Metrics cannot be served at port {port} of {host}: "
    if error.errno == errno.EADDRINUSE:
        return f"{start}it is in use, perhaps by another worker. Choose another port, or 0 for any."
    if error.errno == errno.EACCES:
        return f"{start}not permitted. Choose a port from 1024 on, or 0 for any."
    return f"{start}{error.strerror or error}. The host must be an address of this machine."
