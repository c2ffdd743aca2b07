"""Brokers that refuse a client, and brokers that are only away, played by small servers."""

from __future__ import annotations

import gc
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import product

import pytest
from kafka.errors import KafkaTimeoutError

from consumers.kafka import security as access
from consumers.kafka.clients import new_admin, new_consumer, new_producer
from consumers.kafka.errors import RefusedError
from consumers.kafka.security import find_refusal
from consumers.settings import KafkaSettings
from tests.support.kafka_stream import eventually

PLAIN = {"sasl_mechanism": "PLAIN", "sasl_username": "me", "sasl_password": "hunter2"}
ALERT = b"\x15\x03\x03\x00\x02\x02\x50"


@contextmanager
def server(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """A server that answers every connection in the same way; yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.1)
        ended = threading.Event()

        def serve() -> None:
            while not ended.is_set():
                with suppress(OSError):
                    guest, _ = listening.accept()
                    with guest:
                        guest.settimeout(5)
                        answer(guest)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}"
        finally:
            ended.set()
            thread.join()


def rubbish(guest: socket.socket) -> None:
    guest.recv(4096)
    guest.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def drip(guest: socket.socket) -> None:
    """Send a frame that never ends, one byte now and then."""
    guest.sendall(b"\x00\x00\xff\xff")
    for _ in range(100):
        guest.sendall(b"\x00")
        time.sleep(0.1)


@pytest.fixture(autouse=True)
def _little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "PROBE_SECONDS", 0.5)


def huge(guest: socket.socket) -> None:
    guest.sendall(b"\x7f\xff\xff\xff" * 4)


AWAY: dict[str, Callable[[socket.socket], object]] = {
    "closes at once": lambda guest: None,
    "closes when asked": lambda guest: guest.recv(4096),
    "says nothing": lambda guest: guest.recv(4096) and guest.recv(4096),
}
ODD = {"speaks something else": rubbish, "never ends": drip, "a huge frame": huge}


@pytest.mark.parametrize(
    ("protocol", "answer"),
    [
        *product(["PLAINTEXT", "SASL_PLAINTEXT"], [*AWAY, *ODD]),
        *product(["SSL"], AWAY),  # with the others it is certain that they speak no TLS
    ],
)
def test_what_may_pass_is_no_refusal(protocol: str, answer: str) -> None:
    """A server that is starting or stopping, or sends garbage: this may pass, and takes no long."""
    with server({**AWAY, **ODD}[answer]) as where:
        given = PLAIN if protocol == "SASL_PLAINTEXT" else {}
        settings = KafkaSettings.model_validate(
            {"bootstrap": where, "security_protocol": protocol, **given}
        )
        started = time.monotonic()
        assert find_refusal(settings) is None
        assert time.monotonic() - started < 2


def test_nobody_there_is_no_refusal() -> None:
    assert find_refusal(KafkaSettings(bootstrap="127.0.0.1:1,no-such-host.invalid:9092")) is None


def test_a_listener_with_tls_is_recognised() -> None:
    def alert(guest: socket.socket) -> None:
        guest.recv(4096)
        guest.sendall(ALERT)

    with server(alert) as where, pytest.raises(RefusedError) as error:
        new_admin(KafkaSettings(bootstrap=f"127.0.0.1:1,{where}"), bootstrap_timeout_ms=300)
    assert f"the broker at {where} expects TLS" in str(error.value)
    assert "set kafka.security_protocol to SSL or SASL_SSL" in str(error.value)


def test_a_listener_without_tls_is_recognised_if_it_speaks() -> None:
    with server(rubbish) as where:
        actual = find_refusal(KafkaSettings(bootstrap=where, security_protocol="SSL"))
    assert "check kafka.security_protocol" in str(actual)


def test_clients_that_could_not_be_made_leave_nothing_behind(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A client is made again every few seconds while the broker is away."""
    caplog.set_level(logging.CRITICAL, "kafka")  # what is logged is kept, and holds on to sockets
    settings = KafkaSettings(bootstrap="127.0.0.1:1")

    def held() -> set[object]:
        """Threads and open files, each by what it is, because others may be closed meanwhile."""
        gc.collect()
        collected: set[object] = set(threading.enumerate())
        for descriptor in os.listdir("/proc/self/fd"):
            with suppress(FileNotFoundError):  # the listing itself was one
                collected.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        return collected

    before = held()
    for new_client in (new_admin, new_consumer, new_producer) * 5:
        with pytest.raises(KafkaTimeoutError, match=r"no broker answers at 127\.0\.0\.1:1"):
            new_client(settings, bootstrap_timeout_ms=50)
    assert eventually(lambda: held() <= before), held() - before
