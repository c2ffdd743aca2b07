"""The connections of the metrics server: how many, for how long, and what each may cost.

A probe must be answered whatever other clients do. Therefore:

- a connection has one request and a total time, which does not start again with every byte;
- connections whose request is not there yet, and those that are being answered, have limits of
  their own. Beyond a limit the oldest is closed, never the newest: a client that sends its request
  at once is answered before it can become the oldest;
- the metrics are collected in another thread, one scrape at a time, while probes go on.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from pipeline.metrics.channels import Channel, PlainChannel, TlsChannel
from pipeline.metrics.http_messages import (
    MAX_REQUEST_BYTES,
    REQUEST_END,
    Answer,
    BadRequest,
    Request,
    check_host,
    parse_request,
    response_bytes,
)

log = logging.getLogger(__name__)

MOST_WAITING = 64  # connections without a whole request yet
MOST_ANSWERED = 32  # connections with a request, until its answer is sent
TOTAL_SECONDS = 10.0  # from the first byte of a request to the last byte of its answer
LINGER_SECONDS, LINGER_BYTES = 1.0, 1 << 16  # what a client may send after its request
CHUNK_BYTES = 4096
NO_DESCRIPTORS_SECONDS = 0.05

Task = asyncio.Task[None]
Tasks = dict[Task, socket.socket]  # with their connections, oldest first


class Site(Protocol):
    """What is served."""

    def quick_answer(self, request: Request) -> Answer | None:
        """Answer at once, in the thread of all connections; None: call `answer`."""

    def answer(self, request: Request) -> Answer:
        """Answer a request that takes work; called in another thread, one call at a time."""


class Connections:
    """Accepts connections, answers one request on each, and closes it."""

    def __init__(
        self,
        listening: socket.socket,
        site: Site,
        loopback: bool,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._listening = listening
        self._site = site
        self._loopback = loopback
        self._tls = tls
        self._waiting: Tasks = {}
        self._answered: Tasks = {}
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """Let `serve` end; to be called in the thread of its event loop."""
        self._stopped.set()

    async def serve(self) -> None:
        """Answer requests until `stop` is called."""
        with self._listening, ThreadPoolExecutor(1, "scrape") as self._scraper:
            accepting = asyncio.create_task(self._accept())
            await self._stopped.wait()
            for task in (accepting, *self._waiting, *self._answered):
                task.cancel()
            self._scraper.shutdown(wait=False, cancel_futures=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listening)
            except OSError:  # no file descriptor is free, or the client is gone already
                close_oldest(self._waiting)
                await asyncio.sleep(NO_DESCRIPTORS_SECONDS)
                continue
            connection.setblocking(False)
            task = loop.create_task(self._handle(connection))
            self._waiting[task] = connection
            task.add_done_callback(self._close)
            if len(self._waiting) > MOST_WAITING:
                close_oldest(self._waiting)
            # The new connection comes first: a request that is there already is answered now.
            await asyncio.sleep(0)

    def _close(self, task: Task) -> None:
        for tasks in (self._waiting, self._answered):
            if (connection := tasks.pop(task, None)) is not None:
                connection.close()

    async def _handle(self, connection: socket.socket) -> None:
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                if self._tls is None:
                    await self._respond(connection, PlainChannel(connection))
                else:
                    channel = TlsChannel(connection, self._tls)
                    await channel.shake_hands()
                    await self._respond(connection, channel)
            async with asyncio.timeout(LINGER_SECONDS):
                await linger(connection)
        except (OSError, TimeoutError):
            pass  # the client is gone, or too slow
        except Exception:
            log.exception("a request to the metrics server failed")

    async def _respond(self, connection: socket.socket, channel: Channel) -> None:
        loop = asyncio.get_running_loop()
        method = "GET"
        try:
            head = await read_head(channel)
            if head is None:
                return
            self._begin_answer(connection)
            request = parse_request(head)._replace(has_certificate=channel.has_certificate)
            method = request.method
            check_host(request, self._loopback)
            answer = self._site.quick_answer(request)
            if answer is None:
                answer = await loop.run_in_executor(self._scraper, self._site.answer, request)
        except BadRequest as error:
            answer = error.answer
        await channel.send(response_bytes(answer, method))
        await channel.end()

    def _begin_answer(self, connection: socket.socket) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._waiting.pop(task, None)
            self._answered[task] = connection
        if len(self._answered) > MOST_ANSWERED:
            close_oldest(self._answered)


def close_oldest(tasks: Tasks) -> None:
    """End the oldest connection that is not being ended already."""
    for task in tasks:
        if not task.cancelling():
            task.cancel()
            return


async def read_head(channel: Channel) -> bytes | None:
    """Read up to the empty line after the headers; None if the client ends before."""
    head = b""
    while (match := REQUEST_END.search(head)) is None:
        if len(head) > MAX_REQUEST_BYTES:
            raise BadRequest(431, f"a request must have at most {MAX_REQUEST_BYTES:,} bytes")
        chunk = await channel.receive(CHUNK_BYTES)
        if not chunk:
            return None
        head += chunk
    return head[: match.start()]


async def linger(connection: socket.socket) -> None:
    """Read what the client still sends: closing before would discard the answer on its way."""
    loop = asyncio.get_running_loop()
    discarded = 0
    while discarded < LINGER_BYTES and (chunk := await loop.sock_recv(connection, CHUNK_BYTES)):
        discarded += len(chunk)
