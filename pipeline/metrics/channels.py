"""What goes through a connection of the metrics server: bytes as they are, or within TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeVar

T = TypeVar("T")

CHUNK_BYTES = 1 << 14


class Channel(Protocol):
    """Both directions of a connection."""

    has_certificate: bool  # the client has shown one that is accepted

    async def receive(self, size: int) -> bytes:
        """Some bytes, at most `size`; none when the client has ended."""

    async def send(self, data: bytes) -> None:
        """Send all bytes."""

    async def end(self) -> None:
        """Say that nothing more will be sent."""


class PlainChannel:
    """Bytes as they are."""

    has_certificate = False

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()

    async def receive(self, size: int) -> bytes:
        """Some bytes, at most `size`; none when the client has ended."""
        return await self._loop.sock_recv(self._connection, size)

    async def send(self, data: bytes) -> None:
        """Send all bytes."""
        await self._loop.sock_sendall(self._connection, data)

    async def end(self) -> None:
        """Say that nothing more will be sent."""
        self._connection.shutdown(socket.SHUT_WR)


class TlsChannel:
    """Bytes within TLS, between two buffers in memory; the connection carries what TLS makes."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self.has_certificate = False

    async def shake_hands(self) -> None:
        """Agree on keys; raises an error of `ssl`, an OSError, if that fails."""
        try:
            await self._run(self._tls.do_handshake)
        finally:
            await self._flush()  # also the alert that says why it failed
        self.has_certificate = bool(self._tls.getpeercert())

    async def receive(self, size: int) -> bytes:
        """Some bytes, at most `size`; none when the client has ended."""
        try:
            return await self._run(lambda: self._tls.read(size))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    async def send(self, data: bytes) -> None:
        """Send all bytes."""
        for start in range(0, len(data), CHUNK_BYTES):
            part = data[start : start + CHUNK_BYTES]
            await self._run(lambda part=part: self._tls.write(part))  # type: ignore[misc]

    async def end(self) -> None:
        """Say that nothing more will be sent, in TLS and below it."""
        with suppress(ssl.SSLError):  # the client need not say the same
            self._tls.unwrap()
        await self._flush()
        self._connection.shutdown(socket.SHUT_WR)

    async def _run(self, action: Callable[[], T]) -> T:
        """Do something that may need more bytes of the client, or make some for it."""
        while True:
            try:
                result = action()
            except ssl.SSLWantReadError:
                await self._flush()
                data = await self._loop.sock_recv(self._connection, CHUNK_BYTES)
                if data:
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            else:
                await self._flush()
                return result

    async def _flush(self) -> None:
        if self._outgoing.pending:
            await self._loop.sock_sendall(self._connection, self._outgoing.read())
