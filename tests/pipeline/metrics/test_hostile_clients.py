"""Clients that try to keep a probe from being answered, over real sockets.

What counts is that a probe is answered while all of these clients are connected, not after the
server's patience with them is over.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from prometheus_client import CollectorRegistry, Gauge

from pipeline.metrics import connections
from pipeline.metrics.connections import MOST_WAITING
from pipeline.metrics.health import Health
from pipeline.metrics.http_messages import MAX_REQUEST_BYTES
from pipeline.metrics.server import MetricsServer

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
METRICS = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
ANSWER_SECONDS = 60.0  # only a probe that is never answered waits so long
MANY_SERIES = 20_000  # an answer that does not fit into the buffers of a connection


@pytest.fixture(scope="module")
def registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    gauge = Gauge("many", "Many series.", ["series"], registry=registry)
    for number in range(MANY_SERIES):
        gauge.labels(f"{number:0100d}")
    return registry


@pytest.fixture
def server(registry: CollectorRegistry) -> Iterator[MetricsServer]:
    with MetricsServer(registry, Health()) as server:
        yield server


def connect(server: MetricsServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=ANSWER_SECONDS)


def ask(server: MetricsServer, request: bytes) -> bytes:
    """All that the server sends, until it closes the connection."""
    with connect(server) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request)
        answer = bytearray()
        with suppress(ConnectionResetError):
            while chunk := connection.recv(1 << 16):
                answer += chunk
    return bytes(answer)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def is_healthy(server: MetricsServer) -> bool:
    return status(ask(server, HEALTH)) == 200


class Dripping:
    """Connections that each send a request byte by byte, and come again when they are closed."""

    def __init__(self, server: MetricsServer, count: int) -> None:
        self._server = server
        self._stop = threading.Event()
        self._connections = [connect(server) for _ in range(count)]
        self.rounds = 0
        self._thread = threading.Thread(target=self._drip)
        self._thread.start()

    def _drip(self) -> None:
        while not self._stop.is_set():
            for number, connection in enumerate(self._connections):
                try:
                    connection.sendall(b"G" if self.rounds % 7 else b"x: y\r\n")
                except OSError:
                    connection.close()
                    self._connections[number] = connect(self._server)
            self.rounds += 1

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        for connection in self._connections:
            connection.close()


@pytest.mark.parametrize("count", [40, 500])
def test_health_is_answered_while_connections_drip(server: MetricsServer, count: int) -> None:
    dripping = Dripping(server, count)
    try:
        assert all(is_healthy(server) for _ in range(20))
        assert status(ask(server, METRICS)) == 200
    finally:
        dripping.close()


@pytest.mark.parametrize("request_", [b"", b"GET /healthz HTTP/1.1\r\nHost: loc", METRICS])
def test_health_is_answered_while_others_hold_their_connections(
    server: MetricsServer, request_: bytes
) -> None:
    """Clients that send nothing, half a request, or a request whose answer they do not read."""
    with ExitStack() as held:
        for _ in range(2 * MOST_WAITING):
            connection = held.enter_context(connect(server))
            connection.sendall(request_)
        assert all(is_healthy(server) for _ in range(20))


def test_the_oldest_connection_is_closed_and_no_more_are_held(server: MetricsServer) -> None:
    with ExitStack() as held:
        clients = [held.enter_context(connect(server)) for _ in range(MOST_WAITING + 3)]
        assert [client.recv(1) for client in clients[:3]] == [b""] * 3
        clients[3].sendall(HEALTH)
        assert status(clients[3].recv(100)) == 200


def test_a_half_closed_client_is_answered(server: MetricsServer) -> None:
    with connect(server) as client:
        client.sendall(HEALTH)
        client.shutdown(socket.SHUT_WR)
        assert status(client.recv(100)) == 200
    with connect(server) as client:
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""


def test_of_pipelined_requests_the_first_is_answered(server: MetricsServer) -> None:
    answer = ask(server, HEALTH * 100)
    assert answer.count(b"HTTP/1.1 200") == 1
    assert b"Connection: close" in answer


def test_a_request_has_a_total_time(server: MetricsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time does not start again with every byte."""
    monkeypatch.setattr(connections, "TOTAL_SECONDS", 0.2)
    with connect(server) as client:
        client.settimeout(0.05)
        for _ in range(MAX_REQUEST_BYTES // 2):  # too few bytes for another refusal
            client.sendall(b"G")
            try:
                assert client.recv(1) == b""
                return
            except TimeoutError:
                continue
    pytest.fail("the connection was not closed")


def test_a_large_request_is_refused_without_reading_all_of_it(server: MetricsServer) -> None:
    header = b"X: " + b"x" * 100 + b"\r\n"
    short = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + header * 100 + b"\r\n"
    assert status(ask(server, short)) == 200
    assert status(ask(server, b"GET /" + b"a" * (2 * MAX_REQUEST_BYTES))) == 431
    endless = b"GET /healthz HTTP/1.1\r\n" + header * 20_000 + b"\r\n"
    assert status(ask(server, endless)) in {431, 0}  # 0: reset while it was still sending
    assert is_healthy(server)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"GET /healthz HTTP/1.0\r\n\r\n", 200),
        (b"GET /healthz HTTP/1.0\n\n", 200),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", 400),
        (b"GET /healthz\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"get /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"PUT /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
        (b"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    ],
)
def test_odd_requests(server: MetricsServer, request_: bytes, expected: int) -> None:
    assert status(ask(server, request_)) == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", 200),
        ("LOCALHOST.:9610", 200),
        ("127.0.0.1:9610", 200),
        ("[::1]:9610", 200),
        ("192.0.2.7", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example:80", 421),
        ("", 421),
        ("a:b:c", 421),
        ("\xe9", 421),
    ],
)
def test_a_foreign_host_name_is_refused_on_the_loopback_address(
    server: MetricsServer, host: str, expected: int
) -> None:
    """Otherwise a web page could read the metrics, by a name that resolves to this machine."""
    request = f"GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("latin-1")
    assert status(ask(server, request)) == expected


def test_other_addresses_are_asked_by_any_name() -> None:
    with MetricsServer(CollectorRegistry(), Health(), host="0.0.0.0") as server:  # noqa: S104
        assert status(ask(server, b"GET /healthz HTTP/1.1\r\nHost: worker-7\r\n\r\n")) == 200
