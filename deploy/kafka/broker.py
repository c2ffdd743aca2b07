"""Brokers as objects: start, stop, kill, restart, pause, resume."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from deploy.kafka.errors import BrokerError
from deploy.kafka.jars import java_command
from deploy.kafka.ports import LOOPBACK
from deploy.kafka.process import ProcessId, spawn
from deploy.kafka.settings import Address, Options
from deploy.kafka.wire import members


class PortTakenError(BrokerError):
    """Somebody else listens on a port that a broker was to listen on."""


class Broker:
    """One node of a cluster: a Java process, its folder and its ports."""

    def __init__(self, node: int, folder: Path, options: Options) -> None:
        self.node = node
        self.folder = folder
        self.options = options
        self.log = folder / "server.log"
        self.where = Address(node, 0, 0)  # known once the cluster has given it its ports
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where its clients connect, `host:port`."""
        return f"{LOOPBACK}:{self.where.port}"

    @property
    def running(self) -> bool:
        """Whether its process lives (it may be paused)."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The id of its process."""
        if self._process is None or not self.running:
            raise BrokerError(f"broker {self.node} is not running")
        return self._process.pid

    def start(self) -> None:
        """Start on the same port and data as before, and wait until it serves clients."""
        self.launch()
        wait_until_ready([self], {self.node}, self.options.start_timeout)

    def stop(self) -> None:
        """Shut down in order (SIGTERM); after `stop_timeout` kill."""
        if self._process is None:
            return
        if self.running:
            self._process.send_signal(signal.SIGCONT)  # a paused process could not hear it
            self._process.terminate()
            try:
                self._process.wait(self.options.stop_timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._gone()

    def kill(self) -> None:
        """End it at once (SIGKILL), paused or not."""
        if self._process is not None:
            self._process.kill()
            self._gone()

    def restart(self) -> None:
        """Stop in order, if it runs, and start again."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Stand still (SIGSTOP): connections stay open, nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on after a pause (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def tail(self, lines: int = 25) -> str:
        """The last lines of its log and of what Java said outside of it."""
        parts = []
        for path, count in ((self.folder / "console.log", 8), (self.log, lines)):
            with suppress(OSError):
                parts += path.read_text(errors="replace").splitlines()[-count:]
        return "\n".join(parts)

    def launch(self) -> None:
        """Start its process without waiting; the node's folder must be formatted."""
        if self.running:
            raise BrokerError(f"broker {self.node} is running already")
        command = [
            *java_command(self.log, self.options.heap_mb, *self.options.java_options()),
            "kafka.Kafka",
            str(self.folder / "server.properties"),
        ]
        with suppress(FileNotFoundError):  # the log of this life only: it explains a failure
            self.log.rename(self.folder / "server.previous.log")
        self._process = spawn(command, self.folder / "console.log", detached=self.options.detached)
        if identity := ProcessId.of(self._process.pid):
            identity.write(self.folder / "pid")

    def check(self) -> None:
        """Raise if the process has ended by itself."""
        if self._process is None or self._process.poll() is None:
            return
        said = self.tail(200)
        if "Address already in use" in said:
            raise PortTakenError(
                f"broker {self.node}: another program listens on port {self.where.port} or "
                f"{self.where.controller_port} of {LOOPBACK}; choose another port"
            )
        code = self._process.returncode
        raise BrokerError(f"broker {self.node} ended with code {code}; its log:\n{self.tail()}")

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None or not self.running:
            raise BrokerError(f"broker {self.node} is not running")
        self._process.send_signal(number)

    def _gone(self) -> None:
        if self._process is not None:
            self._process.wait()
            self._process = None
        (self.folder / "pid").unlink(missing_ok=True)


def wait_until_ready(brokers: Iterable[Broker], expected: set[int], timeout: float) -> None:
    """Wait until each of the brokers answers and counts all the `expected` as in service."""
    end = time.monotonic() + timeout
    for broker in brokers:
        problem = "it does not listen"
        while True:
            broker.check()
            try:
                seen = members(LOOPBACK, broker.where.port)
            except OSError as error:
                problem = str(error)
            else:
                if seen >= expected:
                    break
                problem = f"it sees the brokers {sorted(seen)} in service, not {sorted(expected)}"
            if time.monotonic() > end:
                raise BrokerError(
                    f"broker {broker.node} is not ready after {timeout:.0f} s ({problem}); "
                    f"its log:\n{broker.tail()}"
                )
            time.sleep(0.05)
