"""The server of the page: what it tells, to whom, and that nobody can hold it up."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest

from pipeline.errors import UsageError
from pipeline.page import server as server_module
from pipeline.page.server import STATIC, PageServer, plotly_script
from tests.support.page_stream import Stream, small


@pytest.fixture
def stream() -> Stream:
    stream = Stream()
    stream.process([small(n) for n in range(100)])
    return stream


def port_of(server: PageServer) -> int:
    port = urlsplit(server.address).port
    assert port is not None
    return port


def ask(server: PageServer, path: str, method: str = "GET", **headers: str) -> HTTPResponse:
    connection = HTTPConnection("127.0.0.1", port_of(server), timeout=60)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    response.body = response.read()  # type: ignore[attr-defined]
    connection.close()
    return response


def body(response: HTTPResponse) -> bytes:
    return response.body  # type: ignore[attr-defined, no-any-return]


def latest_update(server: PageServer, query: str = "") -> dict[str, object]:
    response = ask(server, f"/updates{query}")
    assert response.status == 200
    update: dict[str, object] = orjson.loads(body(response))
    return update


def test_the_first_answer_is_whole_and_the_next_only_what_is_new(
    server: PageServer, stream: Stream
) -> None:
    first = latest_update(server)
    assert first["heading"]["source"] == "a test"  # type: ignore[index]
    assert first["lanes"][0]["curve"]["round"] == list(range(1, 101))  # type: ignore[index]
    query = f"?run={first['run']}&since={first['version']}"
    assert ask(server, f"/updates{query}").status == 204
    stream.process([small(n) for n in range(100, 120)])
    second = latest_update(server, query)
    assert "heading" not in second
    assert second["lanes"][0]["curve"]["round"] == list(range(101, 121))  # type: ignore[index]
    assert second["status"]["documents"] == 120  # type: ignore[index]


def test_a_viewer_of_another_run_starts_from_the_beginning(server: PageServer) -> None:
    assert "heading" in latest_update(server, "?run=other&since=99999")


@pytest.mark.parametrize("since", ["-1", "x", "1e3", "9" * 16, "", "%D9%A1"])
def test_a_version_that_is_none_is_refused(server: PageServer, since: str) -> None:
    response = ask(server, f"/updates?since={since}")
    assert response.status == 400
    assert b"must be the version" in body(response)


def test_everything_is_served_from_here_and_may_run_nothing_else(server: PageServer) -> None:
    page = body(ask(server, "/")).decode()
    files = re.findall(r'(?:href|src)="([^"]+)"', page)
    assert len(files) == 6
    scripts = [f"static/{path.name}" for path in STATIC.glob("*.js")]
    for path in ["", *files, *scripts, "updates", "nowhere"]:
        response = ask(server, f"/{path}")
        assert response.status == (404 if path == "nowhere" else 200), path
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self';" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
    assert body(ask(server, "/plotly.min.js")) == plotly_script().read_bytes()


def test_the_page_names_no_other_place_and_has_no_script_of_its_own() -> None:
    for path in STATIC.iterdir():
        text = path.read_text().replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"https?://|//[a-z]+\.[a-z]", text), path.name
        assert "innerHTML" not in text
        assert "insertAdjacentHTML" not in text
    page = (STATIC / "page.html").read_text()
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|\sstyle=|javascript:", page)


def test_other_names_for_this_machine_are_refused(server: PageServer) -> None:
    """A page elsewhere could have its own name point here, and would then be of one origin."""
    assert ask(server, "/updates", Host="evil.example").status == 400
    assert ask(server, "/updates", Host=f"localhost:{port_of(server)}").status == 200


def test_only_reading_is_possible_and_only_what_is_meant(server: PageServer) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert ask(server, "/updates", method).status == 405
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static//etc/passwd"):
        assert ask(server, path).status == 404


def test_the_page_is_for_this_machine_alone(server: PageServer) -> None:
    assert server.address.startswith("http://127.0.0.1:")
    listening = Path("/proc/net/tcp").read_text()
    assert f" 0100007F:{port_of(server):04X} 00000000:0000 0A" in listening


def test_a_port_that_is_taken_is_explained(server: PageServer, stream: Stream) -> None:
    with pytest.raises(UsageError, match=r"already in use\. .*--page-port"):
        PageServer(stream.feed, port_of(server))


def test_the_port_is_free_again_afterwards(stream: Stream) -> None:
    with PageServer(stream.feed) as server:
        port = port_of(server)
        latest_update(server)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
    with PageServer(stream.feed, port) as server:
        latest_update(server)


def silent(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port))


def half_a_request(port: int) -> socket.socket:
    client = silent(port)
    client.sendall(b"GET /updates HTTP/1.1\r\nHost: 127")
    return client


def asks_and_does_not_read(port: int) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    client.sendall(b"GET /plotly.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return client


@pytest.mark.parametrize("hang", [silent, half_a_request, asks_and_does_not_read])
def test_clients_that_hang_are_dropped(
    stream: Stream, monkeypatch: pytest.MonkeyPatch, hang: Callable[[int], socket.socket]
) -> None:
    monkeypatch.setattr(server_module, "PATIENCE_SECONDS", 0.5)
    with PageServer(stream.feed) as server:
        port = port_of(server)
        clients = [hang(port) for _ in range(20)]
        assert latest_update(server)["version"]  # others are served meanwhile
        until = time.monotonic() + 15
        while server.connections and time.monotonic() < until:
            time.sleep(0.05)
        assert not server.connections
        for client in clients:
            client.close()


def test_a_client_that_hangs_does_not_hold_up_the_end(
    stream: Stream, capfd: pytest.CaptureFixture[str]
) -> None:
    started = time.monotonic()
    with PageServer(stream.feed) as server:
        client = asks_and_does_not_read(port_of(server))
        latest_update(server)
    client.close()
    assert time.monotonic() - started < 5
    assert capfd.readouterr().err == ""


def test_a_fault_of_the_server_is_logged_and_answered(
    server: PageServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(server_module, "update_since", lambda sample, since: 1 / 0)
    assert ask(server, "/updates").status == 500
    assert caplog.text.count("Traceback") == 1
    assert "the page failed to answer /updates" in caplog.text


def test_rubbish_is_answered_and_forgotten(
    server: PageServer, capfd: pytest.CaptureFixture[str]
) -> None:
    client = silent(port_of(server))
    client.sendall(b"\x00\xff rubbish\r\n\r\n")
    assert client.recv(100).startswith(b"HTTP/1.1 400")
    client.close()
    latest_update(server)
    assert capfd.readouterr().err == ""
