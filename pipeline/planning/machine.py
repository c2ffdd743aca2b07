"""Facts of the machine that measurements depend on."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path


def machine_facts() -> dict[str, str]:
    """Processor, cores, memory, Python, month of measurement, and how busy the machine was."""
    return {
        "processor": processor(),
        "cores": str(os.cpu_count() or 1),
        "memory": f"{memory_bytes() / 2**30:.0f} GiB",
        "python": platform.python_version(),
        "measured": time.strftime("%Y-%m-%d", time.gmtime()),
        "load of the machine": f"{os.getloadavg()[0]:.1f}",
    }


def processor(path: Path = Path("/proc/cpuinfo")) -> str:
    """The model of the processor, as far as the system tells."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names and names[0] else platform.machine()


def memory_bytes() -> int:
    """The memory of the machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
