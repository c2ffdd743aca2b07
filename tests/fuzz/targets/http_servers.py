"""The HTTP servers, over real sockets: any bytes, in any pieces, and then a health check."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Sequence
from random import Random

from prometheus_client import CollectorRegistry, Counter

from pipeline.metrics.health import Health
from pipeline.metrics.server import MetricsServer
from pipeline.page.server import PageServer
from tests.fuzz.mutation import blown_up, mutate_bytes
from tests.fuzz.target import Broken, Target
from tests.fuzz.values import BYTES
from tests.support.page_stream import Stream, small

STATUS = re.compile(rb"HTTP/1\.[01] (\d\d\d)[ \r]")
WORDS = (
    b"GET ", b"HEAD ", b"POST ", b"OPTIONS * ", b"CONNECT x:1 ",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"HTTP/1.1", b"HTTP/0.9", b"HTTP/9.9", b"\r\n",
    b"\r\n\r\n", b"\n\n", b"Host: evil.example\r\n", b"Host: 127.0.0.1\r\n",
    b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"Connection: keep-alive\r\n",
    b"Upgrade: websocket\r\n", b"Range: bytes=0-1\r\n",
    b"Accept: application/openmetrics-text\r\n", b"X: " + b"a" * 70_000 + b"\r\n",
    b"a: b\r\n" * 200, b"/metrics", b"/healthz", b"/readyz", b"/updates?run=1&since=2",
    b"/static/../server.py", b"/static/%2e%2e/server.py", b"//", b"/%00",
    b"?since=99999999999999999999", b"&run=\xff", b" :\r\n", b"http://127.0.0.1/metrics",
    b"\x16\x03\x01\x02\x00\x01\x00", b";", b"chunked\r\n\r\n5\r\nabc", b"0\r\n\r\n",
)  # fmt: skip


class Complaints(logging.Handler):
    """Collects what servers log as errors."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self.lines.append(f"{record.getMessage()}: {error!r}")


class HttpTarget(Target):
    """A server in this process, and a client that sends raw bytes."""

    share = 0.02
    largest = 1 << 17
    port = 0
    paths: tuple[bytes, ...] = ()
    check = b""

    def __init__(self) -> None:
        self._complaints = Complaints()
        logging.getLogger().addHandler(self._complaints)
        self._sent = 0

    def seeds(self) -> Sequence[bytes]:
        host = b"Host: 127.0.0.1\r\n\r\n"
        first = [b"GET " + path + b" HTTP/1.1\r\n" + host for path in self.paths]
        two = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2
        post = b"POST / HTTP/1.1\r\nContent-Length: 3\r\n" + host + b"abc"
        return [*first, two, post, b"HEAD / HTTP/1.0\r\n\r\n"]

    def mutate(self, rng: Random, data: bytes, other: bytes) -> bytes:
        return mutate_bytes(rng, data, other, (*WORDS, *BYTES))

    def blow_up(self, rng: Random, data: bytes) -> bytes:
        return blown_up(rng, data, self.largest)

    def _exchange(self, data: bytes) -> bytes:
        """Send bytes and the end of the stream; returns everything that comes back."""
        answer = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as client:
            try:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                while chunk := client.recv(1 << 16):
                    answer += chunk
            except TimeoutError:
                raise Broken("the server neither answers nor closes the connection") from None
            except OSError:
                pass  # the server may close while it is being written to
        return answer

    def run(self, data: bytes) -> str:
        answer = self._exchange(data)
        if self._complaints.lines:
            line, self._complaints.lines = self._complaints.lines[0], []
            raise Broken(f"the server logs {line}")
        self._sent += 1
        if self._sent % 50 == 0 and b" 200" not in self._exchange(self.check)[:20]:
            raise Broken("the server does not answer any more")
        codes = STATUS.findall(answer)
        if b"500" in codes:
            raise Broken("the server answers 500")
        return f"{codes[:3]} {len(answer).bit_length()}"

    def close(self) -> None:
        logging.getLogger().removeHandler(self._complaints)


class MetricsTarget(HttpTarget):
    """The metrics and health server: `pipeline/metrics/server.py`."""

    name = "http-metrics"
    paths = (b"/", b"/metrics", b"/healthz", b"/readyz", b"/none?x=1")
    check = b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"

    def __init__(self) -> None:
        super().__init__()
        registry = CollectorRegistry()
        Counter("documents", "Documents.", registry=registry).inc()
        self._server = MetricsServer(registry, Health(patience_s=1e9))
        self.port = self._server.port

    def close(self) -> None:
        self._server.close()
        super().close()


class PageTarget(HttpTarget):
    """The server of the live page: `pipeline/page/server.py`."""

    name = "http-page"
    paths = (b"/", b"/updates", b"/updates?run=1&since=2", b"/static/page.js", b"/static/dom.js")
    check = b"GET /updates HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"

    def __init__(self) -> None:
        super().__init__()
        stream = Stream()
        stream.process([small(n) for n in range(20)])
        self._server = PageServer(stream.feed).__enter__()
        self.port = int(self._server.address.rpartition(":")[2].strip("/"))

    def close(self) -> None:
        self._server.__exit__(None, None, None)
        super().close()
