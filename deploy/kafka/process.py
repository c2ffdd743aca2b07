"""Processes that end with this one, and processes that outlive it and are found again."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

_LAUNCH = Path(__file__).resolve().with_name("launch.py")
_spawners: dict[int, ThreadPoolExecutor] = {}


def spawn(command: list[str], console: Path, *, detached: bool = False) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own; it dies with this process unless `detached`.

    The kernel's "parent" is the thread that forked, not its process: a broker started from a
    thread that ends would be killed there and then. So one thread starts them all, and stays.
    """
    if not detached:
        command = [sys.executable, "-I", "-S", str(_LAUNCH), str(os.getpid()), *command]

    def start() -> subprocess.Popen[bytes]:
        with console.open("ab") as output:
            return subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    pid = os.getpid()  # a forked child has none of our threads and needs a spawner of its own
    spawner = _spawners.setdefault(pid, ThreadPoolExecutor(1, "kafka-spawner"))
    return spawner.submit(start).result()


@dataclass(frozen=True)
class ProcessId:
    """A process id that cannot be mistaken for a later process with the same number."""

    pid: int
    birth: str  # the boot it was started in and the clock tick of its start

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """Identify a living process, or none."""
        try:
            # The name in parentheses may hold anything; the fields after it are numbered from 3.
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            return None
        return None if fields[0] in "ZX" else cls(pid, f"{boot}:{fields[19]}")

    @classmethod
    def read(cls, path: Path) -> ProcessId | None:
        """Read a pid file; none if there is none or it is not one."""
        try:
            pid, birth = path.read_text().split()
            return cls(int(pid), birth)
        except (OSError, ValueError):
            return None

    def write(self, path: Path) -> None:
        """Write a pid file."""
        scratch = path.with_suffix(".new")
        scratch.write_text(f"{self.pid} {self.birth}\n")
        scratch.rename(path)

    def alive(self) -> bool:
        """Whether this very process still runs."""
        return ProcessId.of(self.pid) == self

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to this very process and no other; whether it was there."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            if not self.alive():  # the handle pins the process, so this cannot change under us
                return False
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)
        return True

    def wait(self, timeout: float) -> bool:
        """Wait for its end; whether it came in time."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return True
        try:
            end = time.monotonic() + timeout
            while self.alive():
                left = end - time.monotonic()
                if left <= 0:
                    return False
                select.select([handle], [], [], min(left, 0.5))
        finally:
            os.close(handle)
        return True
