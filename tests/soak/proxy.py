"""A TCP proxy that delays, holds back or closes connections, as a bad network does."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any

CHUNK = 1 << 16


class Proxy:
    """Forwards the connections to one port to another port of the loopback interface."""

    def __init__(self, port: int, target: int) -> None:
        self.port = port
        self._target = target
        self.delay_s = 0.0  # each way
        self._requests, self._answers = asyncio.Event(), asyncio.Event()
        self._requests.set()
        self._answers.set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        """Listen."""
        await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    def hold(self, requests: bool, answers: bool) -> None:
        """Hold back what clients send, or what they get, or both; nothing is lost."""
        for event, held in ((self._requests, requests), (self._answers, answers)):
            if held:
                event.clear()
            else:
                event.set()

    def reset(self) -> None:
        """Close all connections at once."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await self._requests.wait()
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
            self._writers.add(back)
            try:
                async with asyncio.TaskGroup() as ways:
                    ways.create_task(self._forward(reader, back, self._requests))
                    ways.create_task(self._forward(there, writer, self._answers))
            finally:
                self._writers.discard(back)
                back.transport.abort()
        except* OSError:
            pass  # the broker is down, or an end has closed
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, passes: asyncio.Event
    ) -> None:
        """Copy one direction; a delay shifts all bytes and does not reduce the rate."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(256)

        async def read() -> None:
            while True:
                data = await reader.read(CHUNK)
                await queue.put((loop.time() + self.delay_s, data))
                if not data:
                    return

        async def write() -> None:
            while True:
                due, data = await queue.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                await passes.wait()
                if not data:
                    raise ConnectionResetError  # ends the other direction too
                writer.write(data)
                await writer.drain()

        async with asyncio.TaskGroup() as both:
            both.create_task(read())
            both.create_task(write())


class ProxyThread:
    """Runs proxies in a thread with an event loop."""

    def __init__(self, ports: dict[int, int]) -> None:
        """`ports`: the port of each proxy, and the port that it forwards to."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="proxies", daemon=True)
        self._thread.start()
        self.proxies = [self._call(self._new(port, target)) for port, target in ports.items()]

    def _run(self) -> None:
        self._loop.set_exception_handler(lambda *_: None)  # connections end in all ways here
        self._loop.run_forever()

    @staticmethod
    async def _new(port: int, target: int) -> Proxy:
        proxy = Proxy(port, target)
        await proxy.start()
        return proxy

    def _call(self, coroutine: Coroutine[Any, Any, Proxy]) -> Proxy:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    def do(self, action: Callable[[], None]) -> None:
        """Change a proxy, in its own thread."""
        done = threading.Event()

        def act() -> None:
            action()
            done.set()

        self._loop.call_soon_threadsafe(act)
        done.wait(10)

    def close(self) -> None:
        """Close all connections and end the thread."""
        for proxy in self.proxies:
            self.do(proxy.reset)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
