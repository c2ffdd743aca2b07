"""A Kafka broker as an object: start, stop, kill, restart, pause and resume it."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from deploy.kafka.errors import BrokerError
from deploy.kafka.jars import java_command
from deploy.kafka.metadata_request import brokers_in_service
from deploy.kafka.ports import LOOPBACK
from deploy.kafka.process import ProcessId, is_stopped, spawn
from deploy.kafka.settings import NodePorts, Options

PAUSE_SECONDS = 10.0  # that all threads of a broker may take to stop


class PortTakenError(BrokerError):
    """Another program listens on the port of a broker."""


class Broker:
    """One node of a cluster: a Java process, its folder and its ports."""

    def __init__(self, node: int, folder: Path, options: Options) -> None:
        self.node = node
        self.folder = folder
        self.options = options
        self.log = folder / "server.log"
        self.ports = NodePorts(node, 0, 0)  # the cluster chooses the ports
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The address for clients, `host:port`."""
        return f"{LOOPBACK}:{self.ports.port}"

    @property
    def running(self) -> bool:
        """Whether its process runs or is paused."""
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
        """Shut down cleanly (SIGTERM); kill the process after `stop_timeout`."""
        if self._process is None:
            return
        if self.running:
            self._process.send_signal(
                signal.SIGCONT
            )  # a paused process would not handle the next signal
            self._process.terminate()
            try:
                self._process.wait(self.options.stop_timeout)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._forget_process()

    def kill(self) -> None:
        """End the process at once (SIGKILL), paused or not."""
        if self._process is not None:
            self._process.kill()
            self._forget_process()

    def restart(self) -> None:
        """Shut down cleanly, if the broker runs, and start it again."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """Pause the process (SIGSTOP): connections stay open, but requests get no answer."""
        self._signal(signal.SIGSTOP)
        end = time.monotonic() + PAUSE_SECONDS
        while not is_stopped(self.pid) and time.monotonic() < end:
            time.sleep(0.01)  # threads stop one after another, and may answer until then

    def resume(self) -> None:
        """Continue after a pause (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def tail(self, lines: int = 25) -> str:
        """Return the last lines of its log and of Java's own output."""
        parts = []
        for path, count in ((self.folder / "console.log", 8), (self.log, lines)):
            with suppress(OSError):
                parts += path.read_text(errors="replace").splitlines()[-count:]
        return "\n".join(parts)

    def launch(self) -> None:
        """Start the process without waiting; the node's folder must be formatted."""
        if self.running:
            raise BrokerError(f"broker {self.node} is already running")
        command = [
            *java_command(self.log, self.options.heap_mb, *self.options.java_options()),
            "kafka.Kafka",
            str(self.folder / "server.properties"),
        ]
        with suppress(FileNotFoundError):  # a failure is explained by the log of this run alone
            self.log.rename(self.folder / "server.previous.log")
        self._process = spawn(command, self.folder / "console.log", detached=self.options.detached)
        if identity := ProcessId.of(self._process.pid):
            identity.write(self.folder / "pid")

    def check(self) -> None:
        """Raise an error if the process has ended by itself."""
        if self._process is None or self._process.poll() is None:
            return
        if "Address already in use" in self.tail(200):
            raise PortTakenError(
                f"broker {self.node}: another program listens on port {self.ports.port} or "
                f"{self.ports.controller_port} of {LOOPBACK}; choose another port"
            )
        code = self._process.returncode
        raise BrokerError(
            f"broker {self.node} ended with exit code {code}; its log:\n{self.tail()}"
        )

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None or not self.running:
            raise BrokerError(f"broker {self.node} is not running")
        self._process.send_signal(number)

    def _forget_process(self) -> None:
        if self._process is not None:
            self._process.wait()
            self._process = None
        (self.folder / "pid").unlink(missing_ok=True)


def wait_until_ready(brokers: Iterable[Broker], expected: set[int], timeout: float) -> None:
    """Wait until each broker answers and reports all `expected` brokers as in service."""
    end = time.monotonic() + timeout
    for broker in brokers:
        problem = "it does not answer"
        while True:
            broker.check()
            try:
                seen = brokers_in_service(LOOPBACK, broker.ports.port)
            except OSError as error:
                problem = str(error)
            else:
                if seen >= expected:
                    break
                problem = (
                    f"it reports brokers {sorted(seen)} in service, expected {sorted(expected)}"
                )
            if time.monotonic() > end:
                raise BrokerError(
                    f"broker {broker.node} is not ready after {timeout:.0f} s ({problem}); "
                    f"its log:\n{broker.tail()}"
                )
            time.sleep(0.05)
