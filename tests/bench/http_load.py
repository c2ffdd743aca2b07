"""A load generator: many connections that stay open, in a process of its own.

    python -m tests.bench.http_load PORT FILE CONNECTIONS SECONDS RATE

FILE has the bodies of requests, one per line. With RATE 0 each connection sends its next request as
soon as it has an answer. Otherwise requests begin at fixed times, RATE per second, whether earlier
ones are answered or not. Latency then counts from the time at which a request was to begin, so a
server that stands still is not spared.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import orjson

HEAD = (
    b"POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n"
)


class Client(asyncio.Protocol):
    """One connection: sends a request, and reads its answer."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._buffer = b""
        self._began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def send(self, began: float) -> None:
        self._began = began
        self._transport.write(next(self._load.requests))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            self._buffer = b""
            self._load.answered(self, self._began, head.startswith(b"HTTP/1.1 200"))


class Load:
    """All connections, and what came of their requests."""

    def __init__(self, bodies: list[bytes], rate: float) -> None:
        self.requests: Iterator[bytes] = itertools.cycle(
            [HEAD % len(body) + body for body in bodies]
        )
        self._rate = rate
        self._free: deque[Client] = deque()
        self._late: deque[float] = deque()  # requests that find no free connection
        self.latencies = list[float]()
        self.failures = 0

    def answered(self, client: Client, began: float, is_good: bool) -> None:
        now = time.perf_counter()
        self.latencies.append(now - began)
        self.failures += not is_good
        if not self._rate:
            client.send(now)
        elif self._late:
            client.send(self._late.popleft())
        else:
            self._free.append(client)

    async def run(self, port: int, connections: int, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(connections):
            _, client = await loop.create_connection(lambda: Client(self), "127.0.0.1", port)
            self._free.append(client)
        start = time.perf_counter()
        if not self._rate:
            for client in self._free:
                client.send(time.perf_counter())
            await asyncio.sleep(seconds)
            return
        for number in itertools.count():
            due = start + number / self._rate
            if due > start + seconds:
                return
            if due > time.perf_counter():
                await asyncio.sleep(due - time.perf_counter())
            if self._free:
                self._free.popleft().send(due)
            else:
                self._late.append(due)


def main() -> None:
    port, file, connections, seconds, rate = sys.argv[1:]
    load = Load(Path(file).read_bytes().splitlines(), float(rate))
    asyncio.run(load.run(int(port), int(connections), float(seconds)))
    result = {"latencies": sorted(load.latencies), "failures": load.failures}
    sys.stdout.buffer.write(orjson.dumps(result))


if __name__ == "__main__":
    main()
