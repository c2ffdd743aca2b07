"""The time from the command to the first ranking, with compiled kernels."""

from __future__ import annotations

import subprocess
import sys
import time


def first_ranking_seconds() -> float:
    """Start a replay of standard input, send it one document, and wait for its ranking."""
    arguments = ["replay", "-", "--rankings", "-", "--quiet"]
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "pipeline", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"id": "1", "text": "wheat", "topics": ["grain"]}\n')
        process.stdin.flush()
        process.stdout.readline()
        seconds = time.perf_counter() - started
        process.stdin.close()
        process.stdout.read()
    return seconds


def run() -> None:
    """Print the best of three."""
    first_ranking_seconds()  # compiles the kernels if necessary
    best = min(first_ranking_seconds() for _ in range(3))
    print(f"Start-up to the first ranking, with compiled kernels: {best:.2f} s")
