"""Connections to clients that are not trusted.

A connection that does not send a whole request within `PATIENCE_SECONDS` is closed, however it
trickles its bytes. Beyond `MOST_CONNECTIONS` the connection that has waited longest is closed, and
never one whose request is being answered. So a client that sends its request at once is served,
whatever others do. The system drops clients that do not read their answers.
"""

from __future__ import annotations

import asyncio
import socket

from uvicorn.protocols.http.h11_impl import H11Protocol

from pipeline.errors import UsageError
from pipeline.metrics.server import refusal

PATIENCE_SECONDS = 20.0
MOST_CONNECTIONS = 512  # per process
BACKLOG = 1024


class BoundedProtocol(H11Protocol):
    """HTTP on a connection that may wait only so long for its client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request, and close another connection if there are too many."""
        super().connection_made(transport)
        self.waiting_since = self.loop.time()
        self._check = self.loop.call_later(PATIENCE_SECONDS, self._lose_patience)
        if len(self.connections) > MOST_CONNECTIONS:
            waiting = [
                other
                for other in self.connections
                if isinstance(other, BoundedProtocol) and other is not self and other.is_waiting
            ]
            if waiting:
                min(waiting, key=lambda other: other.waiting_since).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._check.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Start waiting for the next request."""
        self.waiting_since = self.loop.time()
        super().on_response_complete()

    @property
    def is_waiting(self) -> bool:
        """Whether the client has to send something before anything can be answered."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body

    def _lose_patience(self) -> None:
        left = self.waiting_since + PATIENCE_SECONDS - self.loop.time()
        if self.is_waiting and left <= 0:
            self.transport.abort()
        else:
            self._check = self.loop.call_later(max(left, 1.0), self._lose_patience)


def listening_sockets(host: str, port: int, processes: int) -> list[socket.socket]:
    """Return a socket per process; the system spreads connections over them.

    Sockets that share a port do not notice another program there, so a first one that does not
    share it looks whether the port is free.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
        sockets = list[socket.socket]()
        for _ in range(processes):
            one = socket.create_server(
                (host, port), family=family, backlog=BACKLOG, reuse_port=True
            )
            one.setsockopt(
                socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(1000 * PATIENCE_SECONDS)
            )
            # An answer is written in two parts. Without this option the second one would wait until
            # the client has confirmed the first, which takes 40 ms. Connections inherit it.
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sockets.append(one)
            port = one.getsockname()[1]
    except OSError as error:
        raise UsageError(refusal(host, port, error).replace("Metrics", "The model", 1)) from None
    return sockets
