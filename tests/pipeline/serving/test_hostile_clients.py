"""Clients that trickle, flood, send nonsense or vanish: the server answers the others."""

from __future__ import annotations

import resource
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from pipeline.serving.connections import MOST_CONNECTIONS
from tests.support.model_server import ModelServer, save_model

pytestmark = pytest.mark.slow

DOCUMENT = b'{"text": "w1 w2"}'
HEAD = b"POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
REQUEST = HEAD + b"Content-Length: %d\r\n\r\n" % len(DOCUMENT) + DOCUMENT


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    model = save_model(tmp_path_factory.mktemp("served"), "mmp:loss=1", "perceptron")
    with ModelServer(model, "--processes", "1", "--max-waiting", "8") as server:
        yield server


@pytest.fixture(autouse=True)
def _serves_afterwards(server: ModelServer) -> Iterator[None]:
    pids = server.children()
    yield
    while (status := server.ask("/v1/rank", DOCUMENT).status) == 429:
        pass  # the requests of clients that are gone are still being ranked
    assert status == 200
    assert server.ask("/healthz").status == 200
    assert server.children() == pids  # no process has died


def test_a_body_with_two_lengths_is_refused(server: ModelServer) -> None:
    """A proxy in front may see another end of the request, and another request behind it."""
    smuggled = b"GET /v1/model HTTP/1.1\r\nHost: localhost\r\n\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n"
    with server.connect() as client:
        length = b"Content-Length: %d\r\n" % (len(smuggled) + 5)
        client.sendall(HEAD + length + chunked + b"\r\n0\r\n\r\n" + smuggled)
        answer = b""
        while chunk := client.recv(1 << 16):  # until the server closes
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("start", [b"POST /v1/ra", HEAD + b"Content-Length: 1000\r\n\r\n{", b""])
def test_connections_that_trickle_bytes(server: ModelServer, start: bytes) -> None:
    """More of them than the server has room for; a request that is whole is answered."""
    count = MOST_CONNECTIONS + 100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    trickling = list[socket.socket]()
    try:
        for number in range(count):
            connection = server.connect()
            connection.send(start)
            trickling.append(connection)
            if number % 100 == 0:
                for other in trickling:
                    trickle(other)
                assert server.ask("/v1/rank", DOCUMENT).status == 200
        for other in trickling:
            trickle(other)
        assert server.ask("/v1/rank", DOCUMENT).status == 200
        assert server.ask("/healthz").status == 200
    finally:
        for connection in trickling:
            connection.close()


def trickle(connection: socket.socket) -> None:
    try:
        connection.send(b"n")
    except OSError:
        return  # closed, because others came


def test_a_body_of_100_megabytes_is_refused_before_it_is_sent(server: ModelServer) -> None:
    with server.connect() as connection:
        connection.sendall(HEAD + b"Content-Length: 100000000\r\n\r\n" + b"x" * 1000)
        assert b" 413 " in connection.recv(1000)


def test_100_megabytes_that_come_without_a_length_are_cut_off(server: ModelServer) -> None:
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    received = list[bytes]()
    with server.connect() as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        reader = threading.Thread(target=lambda: received.append(read_some(connection)))
        reader.start()
        sent = 0
        try:
            while sent < 100_000_000:
                connection.sendall(chunk)
                sent += 65536
        except OSError:
            pass
        reader.join(60)
    assert sent < 50_000_000
    assert received[0] == b"" or b" 413 " in received[0]


def read_some(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1000)
    except OSError:
        return b""


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x00\xff\x16\x03\x01" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/rank HTTP/1.1\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        HEAD + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
        HEAD + b"Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\n[]",
        HEAD + b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000,
        HEAD + b"Content-Length: 9\r\n\r\n" + b'{"text":\xff',
        REQUEST * 50,
    ],
)
def test_nonsense(server: ModelServer, nonsense: bytes) -> None:
    with server.connect() as connection:
        try:
            connection.sendall(nonsense)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass
        except OSError:
            pass


def test_clients_that_vanish(server: ModelServer) -> None:
    """They reset the connection before, within and after their request."""
    for cut in (0, 10, len(REQUEST) - 3, len(REQUEST)):
        for _ in range(50):
            connection = server.connect()
            connection.sendall(REQUEST[:cut])
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()


def test_clients_that_do_not_read_their_answers(server: ModelServer) -> None:
    body = b'{"documents": [%b], "top": 0}' % b",".join([DOCUMENT] * 1000)
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    connections = [server.connect() for _ in range(30)]
    for connection in connections:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(request)
    assert server.ask("/v1/model").status == 200
    for connection in connections:
        connection.close()


def test_overload_is_answered_at_once(server: ModelServer) -> None:
    """More requests at the same time than may wait: some are ranked, others refused."""
    body = b'{"documents": [%b], "why": true}' % b",".join([DOCUMENT] * 500)
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    connections = [server.connect() for _ in range(60)]
    for connection in connections:
        connection.sendall(request)
    statuses = [connection.recv(12).split()[1] for connection in connections]
    for connection in connections:
        connection.close()
    assert set(statuses) <= {b"200", b"429", b"503"}
    assert b"200" in statuses
    assert b"429" in statuses
