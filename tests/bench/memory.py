"""The memory of a long replay: it grows while the vocabulary fills, and then stays constant."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path


def resident_mib(pid: int) -> float | None:
    """The resident memory of a process, or None when it has ended (Linux)."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return None
    return pages * 4096 / 2**20


def run(documents: int) -> None:
    """Replay a long stream with the default lanes and print its memory over time."""
    print(
        f"Memory of `wirerank replay synthetic:{documents}`, default lanes and ceilings (a minute)"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", "replay", f"synthetic:{documents}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    started = time.monotonic()
    samples: list[float] = []
    while process.poll() is None:
        if (used := resident_mib(process.pid)) is not None:
            samples.append(used)
        time.sleep(0.25)
    if process.returncode != 0 or not samples:
        raise SystemExit(f"the replay ended with exit code {process.returncode}; expected 0")
    seconds = time.monotonic() - started
    for tenth in range(1, 11):
        at = max(0, len(samples) * tenth // 10 - 1)
        print(f"  after {tenth * 10:3d} % of the time {samples[at]:8.0f} MiB")
    late = samples[len(samples) // 2 :]
    growth = max(late) / late[0]
    print(f"  end of the second half / its beginning {growth:6.3f} x   ({seconds:.0f} s in total)")


# Kinds of `tests.support.hostile_replay`, with numbers of events that take a minute or more each.
HOSTILE = {
    "large-documents": 1_000,
    "bad-events": 150,
    "long-ids": 1_000,
    "labels-without-documents": 3_000_000,
    "large-labels": 3_000,
    "many-topics": 30_000,
}


def run_hostile() -> None:
    """Replay hostile streams and print how far each made the memory of its process grow."""
    print("Memory of hostile streams, with 16 MiB for what waits for labels (some minutes)")
    for kind, events in HOSTILE.items():
        command = [sys.executable, "-m", "tests.support.hostile_replay", kind, str(events)]
        measured = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        grown, ceiling = measured["grown"] / 2**20, measured["ceiling"] / 2**20
        print(f"  {kind:<26}{events:>10,} events {grown:6.0f} MiB   ceiling {ceiling:,.0f} MiB")
