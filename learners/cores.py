"""How many cores this process may use."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUP = Path("/proc/self/cgroup")


@cache
def usable_cores() -> int:
    """The number of cores, at least 1: those it may run on, or the limit of its container."""
    # Not every system tells on which cores a process may run.
    allowed = getattr(os, "sched_getaffinity", None)
    cores = len(allowed(0)) if allowed else os.cpu_count() or 1
    return max(1, min(cores, int(core_limit(CONTROL_GROUPS, OWN_GROUP))))


def core_limit(groups: Path, own: Path) -> float:
    """The processor time per time that Linux grants to a container or unit; large if unlimited.

    `groups` is where control groups are mounted, and `own` says in which groups this process is.
    """
    limit = float(1 << 16)
    folders = [groups]
    with suppress(OSError, ValueError):
        lines = own.read_text().splitlines()
        folders += [groups / line[4:] for line in lines if line.startswith("0::/")]
    for folder in folders:
        with suppress(OSError, ValueError):
            quota, period = (folder / "cpu.max").read_text().split()
            limit = min(limit, int(quota) / int(period))
    with suppress(OSError, ValueError):  # control groups of version 1; -1 is no limit
        quota = (groups / "cpu/cpu.cfs_quota_us").read_text()
        period = (groups / "cpu/cpu.cfs_period_us").read_text()
        if int(quota) > 0:
            limit = min(limit, int(quota) / int(period))
    return limit
