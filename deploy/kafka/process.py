"""Start processes that end with this one, and identify processes that outlive it."""

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

_DIE_WITH_PARENT = Path(__file__).resolve().with_name("die_with_parent.py")
_spawners: dict[int, ThreadPoolExecutor] = {}


def spawn(command: list[str], console: Path, *, detached: bool = False) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own; it dies with this process unless `detached`.

    To the kernel the "parent" is the thread that forked, not the process. If that thread ended,
    the command would be killed. So one thread, which does not end, starts all commands.
    """
    if not detached:
        command = [sys.executable, "-I", "-S", str(_DIE_WITH_PARENT), str(os.getpid()), *command]

    def start() -> subprocess.Popen[bytes]:
        with console.open("ab") as output:
            return subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    pid = os.getpid()  # a forked child has no copy of the thread and needs its own
    spawner = _spawners.setdefault(pid, ThreadPoolExecutor(1, "kafka-spawner"))
    return spawner.submit(start).result()


@dataclass(frozen=True)
class ProcessId:
    """A process id that cannot be mistaken for a later process with the same number."""

    pid: int
    birth: str  # the id of the boot, and the clock tick when the process started

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """Identify a running process; return None if it does not run."""
        try:
            # The name in parentheses may hold any characters. The first field after it is field 3.
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            return None
        return None if fields[0] in "ZX" else cls(pid, f"{boot}:{fields[19]}")

    @classmethod
    def read(cls, path: Path) -> ProcessId | None:
        """Read a pid file; return None if it is missing or not valid."""
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
        """Return whether the process still runs."""
        return ProcessId.of(self.pid) == self

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to this process and no other; return whether it was running."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return False
        try:
            if not self.alive():  # the handle reserves the id, so no other process can get it now
                return False
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)
        return True

    def wait(self, timeout: float) -> bool:
        """Wait until the process ends; return whether it ended in time."""
        try:
            handle = os.pidfd_open(self.pid)
        except OSError:
            return True
        try:
            end = time.monotonic() + timeout
            while self.alive():
                remaining = end - time.monotonic()
                if remaining <= 0:
                    return False
                select.select([handle], [], [], min(remaining, 0.5))
        finally:
            os.close(handle)
        return True


def is_stopped(pid: int) -> bool:
    """Return whether all threads of a process have stopped (SIGSTOP), or it is gone."""
    try:
        threads = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # a thread has just ended
        return False
    return all(stat.rpartition(")")[2].split()[0] in "Tt" for stat in threads)
