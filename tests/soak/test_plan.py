"""Faults and events are reproducible, and the network behaves as badly as it should."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from pipeline.events.event import MalformedEvent, parse_event
from tests.soak.events import EVENT_LIMIT, GARBAGE, draw_events
from tests.soak.plan import KINDS, draw_faults
from tests.soak.proxy import ProxyThread
from tests.support.ports import free_port


def test_a_seed_reproduces_its_faults() -> None:
    first, again, other = (list(itertools.islice(draw_faults(s), 300)) for s in (1, 1, 2))
    assert first == again != other
    assert {fault.kind for fault in first} == set(KINDS)
    for fault in first:
        kind = KINDS[fault.kind]
        assert fault.target in kind.targets
        assert kind.shortest_s <= fault.seconds <= kind.longest_s


def test_the_order_in_which_kinds_are_named_does_not_matter() -> None:
    one, other = (
        list(itertools.islice(draw_faults(1, k), 50)) for k in (("kill", "cut"), ("cut", "kill"))
    )
    assert one == other


def test_a_seed_reproduces_its_events_and_their_kinds_are_true() -> None:
    """What the load calls garbage is malformed, and nothing else is."""
    events, again = (list(itertools.islice(draw_events(3), 3_000)) for _ in range(2))
    assert events == again
    for event in events:
        try:
            parsed = parse_event(event.value, EVENT_LIMIT).id
        except MalformedEvent:
            parsed = ""
        assert parsed == event.id
        assert bool(parsed) != (event.kind == GARBAGE)


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it gets."""
    server = socket.create_server(("127.0.0.1", free_port()))

    def serve(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(1000):
                connection.sendall(data)

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield server.getsockname()[1]
    server.close()


def test_a_proxy_forwards_holds_delays_and_resets(echo: int) -> None:
    port = free_port()
    proxies = ProxyThread({port: echo})
    (proxy,) = proxies.proxies
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        client.sendall(b"one")
        assert client.recv(10) == b"one"
        proxies.do(lambda: proxy.hold(requests=False, answers=True))
        client.sendall(b"two")
        client.settimeout(0.5)
        with pytest.raises(TimeoutError):
            client.recv(10)
        proxies.do(lambda: proxy.hold(requests=False, answers=False))
        client.settimeout(10)
        assert client.recv(10) == b"two"
        proxy.delay_s = 0.2
        began = time.monotonic()
        client.sendall(b"three")
        assert client.recv(10) == b"three"
        assert time.monotonic() - began >= 0.4
        proxies.do(proxy.reset)
        with suppress(ConnectionResetError):
            assert client.recv(10) == b""
    proxies.close()
