"""A small HTTP server per process: /metrics for Prometheus, /healthz and /readyz for probes.

It listens on the loopback address unless configured otherwise, and may ask for a token or for a
certificate (`pipeline/access.py`). Probes need neither: they tell nothing about the stream. How
connections are handled, and what a client can do to them, is in `pipeline/metrics/connections.py`.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
from types import TracebackType

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from pipeline.access import Access, is_loopback
from pipeline.errors import UsageError
from pipeline.metrics.connections import Connections
from pipeline.metrics.health import Health
from pipeline.metrics.http_messages import TEXT, Answer, Request

LOOPBACK = "127.0.0.1"
OPEN = Access()  # who reaches the server is answered
BACKLOG = 512  # connections that the system holds while others are accepted
INDEX = b"Wirerank: /metrics (Prometheus text or OpenMetrics), /healthz, /readyz\n"


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


def unauthorized(access: Access) -> Answer:
    """Say what a client that is not known has to send."""
    needed = ["a certificate of a client that is accepted"] if access.needs_certificate else []
    if access.token is not None:
        needed.append("the header `Authorization: Bearer TOKEN` with the right token")
    text = f"expected {' and '.join(needed)}\n"
    return Answer(401, TEXT, text.encode(), ("WWW-Authenticate: Bearer",))


class Site:
    """What is served: the registry and the health of a process."""

    def __init__(self, registry: CollectorRegistry, health: Health, access: Access = OPEN) -> None:
        self._registry = registry
        self._health = health
        self._access = access

    def quick_answer(self, request: Request) -> Answer | None:
        """Answer a request at once; return None if that takes work, which is for `answer`."""
        match request.path:
            case "/metrics":
                authorization = request.authorization.encode("latin-1")
                if self._access.permits(authorization, request.has_certificate):
                    return None
                return unauthorized(self._access)
            case "/healthz":
                return health_answer(self._health)
            case "/readyz":
                return ready_answer(self._health)
            case "/":
                return Answer(200, TEXT, INDEX)
            case _:
                return Answer(404, TEXT, b"not found; there is " + INDEX.partition(b": ")[2])

    def answer(self, request: Request) -> Answer:
        """Collect the metrics; one caller at a time."""
        return metrics_answer(self._registry, request.accept)


class MetricsServer:
    """Serves a registry and the health of a process, in a thread of its own, until it is closed."""

    def __init__(
        self,
        registry: CollectorRegistry,
        health: Health,
        host: str = LOOPBACK,
        port: int = 0,
        access: Access = OPEN,
    ) -> None:
        try:
            listening = listening_socket(host, port)
        except OSError as error:
            raise UsageError(refusal(host, port, error)) from None
        self.port: int = listening.getsockname()[1]
        scheme = "http" if access.tls is None else "https"
        self.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"
        self._connections = Connections(
            listening,
            Site(registry, health, access),
            is_loopback(listening.getsockname()[0]),
            access.tls,
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="metrics", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._connections.serve())

    def close(self) -> None:
        """Stop listening; responses in progress may be cut off."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._connections.stop)
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


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; the port of a process that was killed a moment ago is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    listening.setblocking(False)
    return listening


def refusal(host: str, port: int, error: OSError) -> str:
    """Say why the server cannot listen on a port, and what to do."""
    start = f"Metrics cannot be served at port {port} of {host}: "
    if error.errno == errno.EADDRINUSE:
        return f"{start}it is in use, perhaps by another worker. Choose another port, or 0 for any."
    if error.errno == errno.EACCES:
        return f"{start}not permitted. Choose a port from 1024 on, or 0 for any."
    return f"{start}{error.strerror or error}. The host must be an address of this machine."
