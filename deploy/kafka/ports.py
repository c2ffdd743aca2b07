"""Lease free ports, so that a broker keeps its port between a kill and its restart."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import TextIO

from deploy.kafka.errors import BrokerError

LOOPBACK = "127.0.0.1"
_RANGE = range(20_000, 32_000)
_RANDOM = random.SystemRandom()


class PortLease:
    """A port that no other lease gets until `release()` or until this process ends.

    Leased ports are outside the range that the system uses for outgoing connections. Otherwise a
    client's connection could occupy the port of a broker that restarts.
    """

    def __init__(self) -> None:
        folder = Path(tempfile.gettempdir()) / f"wirerank-ports-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        for port in _RANDOM.sample(_candidates(), 200):
            lock = (folder / str(port)).open("w")
            if _locked(lock) and is_free(port):
                self.port, self._lock = port, lock
                return
            lock.close()
        raise BrokerError(
            f"found no free port between {_RANGE.start} and {_RANGE.stop}: stop other servers on "
            "this machine"
        )

    def release(self) -> None:
        """Give the port back."""
        self._lock.close()


def _locked(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _candidates() -> list[int]:
    try:
        text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
        first, last = map(int, text.split())
    except (OSError, ValueError):
        first, last = 32_768, 60_999
    outside = [port for port in _RANGE if not first <= port <= last]
    return outside if len(outside) >= 1000 else list(_RANGE)


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port of the loopback interface now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java sets it
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError:
            return False
    return True
