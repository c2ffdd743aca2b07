"""Starts worker processes by forking a process that has loaded the program and its kernels.

A worker that is started from scratch takes about two seconds of a core to import packages and to
load kernels. The tests start hundreds of workers. A forked worker is a process of its own like any
other: it is killed, stopped and waited for in the same way. Tests of the supervisor, of commands
and of the wheel start their processes from scratch.

`python -m tests.support.fork_server` is the server. It reads one request per line, answers with
the id of the new process, and reports every process that ends.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from tests.conftest import REPOSITORY

LANES = ("mmp", "perceptron", "svm-map", "prank")
STARTED, ENDED = "started", "ended"
START_SECONDS = 600.0  # the first time, kernels may have to be compiled


class ForkedProcess:
    """A process of the fork server, with the methods of `subprocess.Popen` that tests need."""

    def __init__(self, pid: int, server: ForkServer) -> None:
        self.pid = pid
        self._server = server

    def poll(self) -> int | None:
        """The exit code; None while the process runs."""
        return self._server.codes.get(self.pid)

    def wait(self, timeout: float) -> int:
        """Wait for the end of the process, and return its exit code."""
        with self._server.changed:
            if not self._server.changed.wait_for(lambda: self.poll() is not None, timeout):
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return self._server.codes[self.pid]

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The side of the tests: requests processes, and learns of their ends."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", __name__], cwd=REPOSITORY,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.changed = threading.Condition()
        self.codes: dict[int, int] = {}
        self._started: list[int] = []
        self._one_at_a_time = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def start(
        self, arguments: list[str], log: Path, environment: Mapping[str, str]
    ) -> ForkedProcess:
        """Start `wirerank` with these arguments; its output is added to the file `log`."""
        request = {"arguments": arguments, "log": str(log), "environment": dict(environment)}
        assert self._server.stdin is not None
        with self._one_at_a_time:
            self._server.stdin.write(orjson.dumps(request) + b"\n")
            self._server.stdin.flush()
            with self.changed:
                self.changed.wait_for(
                    lambda: self._started or self._server.poll() is not None, START_SECONDS
                )
                if not self._started:  # a late answer would be taken for that to the next request
                    self._server.kill()
                assert self._started, f"no answer; exit code of the server: {self._server.poll()}"
                return ForkedProcess(self._started.pop(), self)

    def _listen(self) -> None:
        assert self._server.stdout is not None
        for line in self._server.stdout:
            event, pid, code = orjson.loads(line)
            with self.changed:
                if event == STARTED:
                    self.codes.pop(pid, None)  # an earlier process may have had the same id
                    self._started.append(pid)
                else:
                    self.codes[pid] = code
                self.changed.notify_all()
        self._server.wait()
        with self.changed:
            self.changed.notify_all()


@cache
def fork_server() -> ForkServer:
    """The fork server of this process of tests; it ends with this process."""
    return ForkServer()


def report(event: str, pid: int, code: int = 0) -> None:
    """Tell the tests what happened."""
    sys.stdout.buffer.write(orjson.dumps([event, pid, code]) + b"\n")
    sys.stdout.buffer.flush()


def reap() -> None:
    """Report all processes that have ended."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        report(ENDED, pid, os.waitstatus_to_exitcode(status))


def serve() -> list[str] | None:
    """Fork a process per request. Returns its arguments in a new process, and None at the end."""
    ends, wake_up = os.pipe()
    os.set_blocking(wake_up, False)
    signal.set_wakeup_fd(wake_up)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([sys.stdin.buffer, ends], [], [])
        if ends in ready:
            os.read(ends, 4096)
            reap()
        if sys.stdin.buffer not in ready:
            continue
        # The tests wait for an answer before they send the next request: lines never queue up.
        line = sys.stdin.buffer.readline()
        if not line:
            return None
        assert threading.active_count() == 1, threading.enumerate()  # forks copy no threads
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(ends)
            os.close(wake_up)
            return prepare(orjson.loads(line))
        report(STARTED, pid)


def prepare(request: dict[str, Any]) -> list[str]:
    """Give the new process its output and its environment; return its arguments."""
    with open(request["log"], "ab") as log, open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.environ.update(request["environment"])
    arguments: list[str] = request["arguments"]
    return arguments


def load() -> None:
    """Import what workers import, and load the kernels of the usual lanes."""
    import consumers.learner.worker
    import consumers.tokenizer.worker
    import consumers.worker_metrics  # noqa: F401
    from consumers.kafka.batch_encoder import warm_up_encoder
    from learners.specs import parse_spec, resolved
    from pipeline.engine.warmup import warm_up
    from pipeline.text.tokenizer import Tokenizer

    warm_up(resolved([parse_spec(lane) for lane in LANES]), Tokenizer(), lambda message: None)
    warm_up_encoder()


if __name__ == "__main__":
    from consumers.cli import main

    load()
    arguments = serve()
    if arguments is not None:
        sys.argv = ["wirerank", *arguments]
        main()
