"""Serve a model: this process loads it, and others answer.

The processes that answer are forked when the model is loaded, so they share its memory until they
take up a newer one. A process that dies is started again. All end when this one does.
"""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import os
import signal
import socket
import ssl
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from pipeline.access import is_loopback, server_tls
from pipeline.errors import UsageError
from pipeline.interruption import Interruption
from pipeline.metrics.scrape_target import ScrapeTarget, target_address
from pipeline.replay.replay import SWITCH_INTERVAL_SECONDS
from pipeline.serving.app import Access, ServeApp
from pipeline.serving.connections import (
    MOST_CONNECTIONS,
    PATIENCE_SECONDS,
    BoundedProtocol,
    listening_sockets,
)
from pipeline.serving.counters import FAILURES, RELOADS, RESTARTS, Counters
from pipeline.serving.micro_batches import MicroBatches
from pipeline.serving.model_source import CurrentModel, ModelSource
from pipeline.serving.rank_request import Limits

JOB = "wirerank-serve"
END_SECONDS = 10.0  # for requests in progress, when the server ends
LOOK_SECONDS = 0.2
RESTART_SECONDS = 1.0  # between two starts of the same process
NOTE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """The file by which Prometheus finds a server that belongs to a stream."""

    folder: Path
    stream: str
    worker: str  # the name of the server among the workers of the stream

    def announce(
        self, host: str, port: int, scheme: str, say: Callable[[str], None]
    ) -> ScrapeTarget | None:
        """Write where the server is; a folder that cannot be written is no reason to end."""
        address = target_address(host, port)
        try:
            return ScrapeTarget(self.folder, JOB, self.worker, self.stream, address, scheme)
        except OSError as error:
            say(
                f"{self.folder} cannot be written ({error.strerror}), so Prometheus does not find "
                "this server by it"
            )
            return None


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What is served, where, and with which limits."""

    model: Path
    lanes: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 0
    token: bytes | None = None
    tls_certfile: Path | None = None
    tls_keyfile: Path | None = None
    client_cafile: Path | None = None
    top: int = 10
    profile: str | None = None
    refresh_seconds: float = 5.0
    processes: int = 1
    max_body_bytes: int = 4 << 20
    max_documents: int = 1000
    max_waiting: int = 1000
    timeout_seconds: float = 10.0
    wait: bool = False  # for a model that is not there yet
    target: TargetSettings | None = None  # where Prometheus looks for the server

    def check(self) -> None:
        """Refuse an address that others can reach, if there is no token."""
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            raise UsageError(
                f"--host must be an address of this machine, such as 127.0.0.1 or 0.0.0.0, found "
                f"{self.host!r}."
            ) from None
        if self.tls_certfile is None and (self.tls_keyfile or self.client_cafile):
            raise UsageError("--tls-key and --client-ca have no meaning without --tls-cert.")
        if self.token is None and self.client_cafile is None and not is_loopback(self.host):
            raise UsageError(
                f"Others can reach {self.host}, so a token is needed: give --token-file FILE, or "
                "set WIRERANK_SERVE_TOKEN. Without a token, leave --host out."
            )

    def tls(self) -> ssl.SSLContext | None:
        """The TLS context; None for plain HTTP."""
        if self.tls_certfile is None:
            return None
        try:
            return server_tls(self.tls_certfile, self.tls_keyfile, self.client_cafile)
        except ValueError as error:
            raise UsageError(f"{error}.") from None


class ServingProcess:
    """What a process that answers needs; made before it is forked."""

    def __init__(
        self, settings: ServeSettings, current: CurrentModel, counters: Counters, number: int,
        listening: socket.socket, say: Callable[[str], None], tls: ssl.SSLContext | None,
    ) -> None:  # fmt: skip
        self._settings = settings
        self._tls = tls
        self._current = current
        self._counters = counters
        self._number = number
        self._socket = listening
        self._say = say if number == 0 else lambda line: None
        self._started = 0.0
        self.pid = 0

    def start(self, parent_lives: int, parent_end: int) -> None:
        """Fork the process."""
        self._started = time.monotonic()
        self.pid = os.fork()
        if self.pid:
            return
        code = 1
        try:
            os.close(parent_end)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)  # until uvicorn handles it
            for number in (signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
            asyncio.run(self._serve(parent_lives))
            code = 0
        except KeyboardInterrupt:
            code = 0  # uvicorn raises it after it has ended in good order
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def look(self) -> str | None:
        """Say how the process ended, if it did."""
        if not self.pid:
            return None
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return None
        self.pid = 0
        return f"a serving process ended with code {os.waitstatus_to_exitcode(status)}"

    @property
    def may_start(self) -> bool:
        """Whether the process is to be started again now."""
        return not self.pid and time.monotonic() - self._started > RESTART_SECONDS

    def signal(self, number: int) -> None:
        """Send a signal to the process."""
        if self.pid:
            os.kill(self.pid, number)

    async def _serve(self, parent_lives: int) -> None:
        settings, current = self._settings, self._current
        batches = MicroBatches(
            current.answer,
            settings.max_waiting,
            settings.timeout_seconds,
        )
        access = Access(
            settings.token,
            is_loopback(settings.host),
            settings.max_body_bytes,
            settings.timeout_seconds,
        )
        app = ServeApp(current, access, batches, self._counters, self._number)
        config = uvicorn.Config(
            app, http=BoundedProtocol, ws="none", lifespan="off", loop="asyncio", log_config=None,
            log_level="critical", access_log=False, server_header=False, proxy_headers=False,
            limit_concurrency=2 * MOST_CONNECTIONS, timeout_keep_alive=round(PATIENCE_SECONDS),
            timeout_graceful_shutdown=round(END_SECONDS) - 2,
        )  # fmt: skip
        config.load()
        config.ssl = self._tls
        server = uvicorn.Server(config)
        loop = asyncio.get_running_loop()

        def parent_died() -> None:
            loop.remove_reader(parent_lives)
            server.should_exit = True

        loop.add_reader(parent_lives, parent_died)
        current.watch(settings.refresh_seconds, self._say)
        noting = loop.create_task(self._note(app))
        try:
            await server.serve([self._socket])
        finally:
            noting.cancel()
            current.close()
            batches.close()

    async def _note(self, app: ServeApp) -> None:
        """Keep the numbers about the model up to date, also if another process is scraped."""
        own = self._counters.of(self._number)
        reloads = failures = 0
        while True:
            app.note_model()
            own.add(RELOADS, self._current.reloads - reloads)
            own.add(FAILURES, self._current.failures - failures)
            reloads, failures = self._current.reloads, self._current.failures
            await asyncio.sleep(NOTE_SECONDS)


def serve(settings: ServeSettings, say: Callable[[str], None]) -> int | None:
    """Serve until a signal asks to stop; return the signal."""
    settings.check()
    tls = settings.tls()
    limits = Limits(settings.max_documents)
    source = ModelSource(settings.model, settings.lanes, settings.profile, settings.top, limits)
    interruption = Interruption()
    if settings.wait:
        with interruption.installed():
            wait_for_model(source, settings, interruption, say)
        if interruption.signal is not None:
            return interruption.signal
    state = source.state()
    sockets = listening_sockets(settings.host, settings.port, settings.processes)
    current = CurrentModel(source, source.load(say), state)
    counters = Counters(settings.processes)
    processes = [
        ServingProcess(settings, current, counters, number, listening, say, tls)
        for number, listening in enumerate(sockets)
    ]
    parent_lives, parent_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    gc.collect()
    announced: ScrapeTarget | None = None
    gc.freeze()  # what is loaded by now stays: looking through it again would hold up requests
    with interruption.installed():
        try:
            for process in processes:
                process.start(parent_lives, parent_end)
            host = f"[{settings.host}]" if ":" in settings.host else settings.host
            scheme = "http" if tls is None else "https"
            port = sockets[0].getsockname()[1]
            if settings.target is not None:
                announced = settings.target.announce(settings.host, port, scheme, say)
            say(f"serving {settings.model} at {scheme}://{host}:{port}/")
            while interruption.signal is None:
                time.sleep(LOOK_SECONDS)
                revive(processes, counters, parent_lives, parent_end, say)
        finally:
            end_all(processes)
        if announced is not None:  # after a fault, the file stays, and Prometheus misses the server
            announced.withdraw()
    return interruption.signal


def wait_for_model(
    source: ModelSource, settings: ServeSettings, interruption: Interruption,
    say: Callable[[str], None],
) -> None:  # fmt: skip
    """Wait until there is a model, or until a signal asks to stop."""
    if not source.state():
        say(f"waiting for a model: {settings.model}")
    while not source.state() and interruption.signal is None:
        time.sleep(LOOK_SECONDS)


def revive(
    processes: list[ServingProcess], counters: Counters, parent_lives: int, parent_end: int,
    say: Callable[[str], None],
) -> None:  # fmt: skip
    """Start processes that have died again."""
    for number, process in enumerate(processes):
        if (how := process.look()) is not None:
            say(f"{how}; it is started again")
            counters.of(number).add(RESTARTS, 1)
        if process.may_start:
            process.start(parent_lives, parent_end)


def end_all(processes: list[ServingProcess]) -> None:
    """End all processes; those that take too long are killed."""
    for process in processes:
        process.signal(signal.SIGTERM)
    deadline = time.monotonic() + END_SECONDS
    while any(process.pid for process in processes):
        for process in processes:
            process.look()
            if time.monotonic() > deadline:
                process.signal(signal.SIGKILL)
        time.sleep(0.02)
