"""The facts about the machine and the versions that a table of timings needs."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

OURS = ("numpy", "numba", "kafka-python")
PEERS = ("vowpalwabbit", "river", "scikit-learn", "fasttext-community", "confluent-kafka")


def processor() -> str:
    """The model of the processor, as the kernel names it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def peer_versions(python: Path, packages: Sequence[str] = PEERS) -> dict[str, str]:
    """The versions of the peers in their environment."""
    code = "import sys; from importlib.metadata import version as v\n"
    code += "for name in sys.argv[1:]: print(name, v(name))"
    done = subprocess.run(
        [python, "-c", code, *packages], capture_output=True, text=True, check=True
    )
    return dict(line.split() for line in done.stdout.splitlines())


def facts(python: Path) -> dict[str, str]:
    """What a reader needs to know about the machine; nothing that identifies it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = {name: version(name) for name in OURS} | peer_versions(python)
    return {
        "processor": f"{processor()}, {os.cpu_count()} cores ({platform.machine()})",
        "memory": f"{memory:.0f} GiB",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items()),
    }
