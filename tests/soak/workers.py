"""Starts the workers by the real commands, and starts again those that have ended.

`run` supervises two tokenizers and the learner of the whole lanes. The shards, and a further
tokenizer, run on their own, as on other machines, each with a clock that can be set.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deploy.kafka.process import spawn
from tests.soak.clock import clock_environment
from tests.soak.journal import Journal
from tests.soak.processes import children, resident_bytes, role, send

RESTART_S = 1.0  # pause before a process that has ended is started again
LOOK_S = 0.2
SAMPLE_S = 2.0
END_S = 45.0  # the supervisor gives its workers 30 s


@dataclass
class Kept:
    """A process that is kept running."""

    name: str
    arguments: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    not_before: float = 0.0


class Workers:
    """All workers of a soak."""

    def __init__(self, folder: Path, exits: Path, memory: Path) -> None:
        self._folder = folder
        self._kept: dict[str, Kept] = {}
        self._lock = threading.RLock()
        self._exits, self._memory = Journal(exits), Journal(memory)
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._keep, self._sample)
        ]
        for thread in self._threads:
            thread.start()

    def start(
        self, name: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start a process, and keep it running."""
        with self._lock:
            self._kept[name] = Kept(name, list(arguments), environment or {})
            self._launch(self._kept[name])

    def end(self, *names: str) -> dict[str, int]:
        """Ask processes to end, wait, and return their exit codes; they are not started again."""
        with self._lock:
            ended = {name: self._kept.pop(name) for name in names if name in self._kept}
        running = {name: kept.process for name, kept in ended.items() if kept.process is not None}
        for process in running.values():
            for pid in (process.pid, *children(process.pid)):
                send(pid, signal.SIGCONT)
            process.terminate()
        until = time.monotonic() + END_S
        codes = {}
        for name, process in running.items():
            try:
                codes[name] = process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                self._kill_tree(process)
                codes[name] = -signal.SIGKILL
            self._exits.write({"at": time.time(), "name": name, "code": codes[name], "asked": True})
        return codes

    def running(self) -> dict[str, int]:
        """The processes that run now, also those that `run` has started, by their roles."""
        with self._lock:
            parents = [k.process.pid for k in self._kept.values() if k.process is not None]
        pids = [pid for parent in parents for pid in (parent, *children(parent))]
        return {name: pid for pid in pids if (name := role(pid))}

    def pid(self, name: str, patience_s: float = 0.0) -> int | None:
        """The process of a role, once it runs."""
        until = time.monotonic() + patience_s
        while (pid := self.running().get(name)) is None and time.monotonic() < until:
            time.sleep(0.1)
        return pid

    def close(self) -> None:
        """End everything that was started."""
        self._closing.set()
        for thread in self._threads:
            thread.join(10)
        with self._lock:
            processes = [kept.process for kept in self._kept.values()]
            self._kept.clear()
        for process in processes:
            if process is not None:
                self._kill_tree(process)
        self._exits.close()
        self._memory.close()

    @staticmethod
    def _kill_tree(process: subprocess.Popen[bytes]) -> None:
        for pid in (*children(process.pid), process.pid):
            send(pid, signal.SIGKILL)
        process.wait(30)

    def _launch(self, kept: Kept) -> None:
        variables = [f"{name}={value}" for name, value in kept.environment.items()]
        command = [sys.executable, "-m", "consumers", *kept.arguments]
        if variables:
            command = [shutil.which("env") or "/usr/bin/env", *variables, *command]
        kept.process = spawn(command, self._folder / f"{kept.name}.log")

    def _keep(self) -> None:
        """Start again what has ended."""
        while not self._closing.wait(LOOK_S):
            with self._lock:
                for kept in self._kept.values():
                    code = None if kept.process is None else kept.process.poll()
                    if code is not None:
                        entry = {"at": time.time(), "name": kept.name, "code": code, "asked": False}
                        self._exits.write(entry)
                        kept.process, kept.not_before = None, time.monotonic() + RESTART_S
                    if kept.process is None and time.monotonic() >= kept.not_before:
                        self._launch(kept)

    def _sample(self) -> None:
        """Write down how much memory each worker holds."""
        while not self._closing.wait(SAMPLE_S):
            for name, pid in self.running().items():
                entry = {"at": time.time(), "name": name, "pid": pid, "bytes": resident_bytes(pid)}
                self._memory.write(entry)


def environment_of(clock: Path | None) -> dict[str, str]:
    """Variables for a worker: one thread per process, and its clock."""
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    cache = os.environ.get("NUMBA_CACHE_DIR")
    variables = {**single, **({"NUMBA_CACHE_DIR": cache} if cache else {})}
    if clock is not None:
        variables |= clock_environment(clock)
    return variables
