"""Processes of the workers: their names, their children, signals to them and their memory."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from deploy.kafka.process import ProcessId


def children(pid: int) -> list[int]:
    """The processes that a process has started and that still run, with theirs."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            direct = [int(number) for number in task.read_text().split()]
        except OSError:
            continue  # the thread has ended
        for child in direct:
            found += [child, *children(child)]
    return found


def role(pid: int) -> str:
    """What a worker is, by its command line: `tokenizer-0`, `learner`, `shard-1`, or empty."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return ""

    def value(option: str) -> str:
        return words[words.index(option) + 1] if option in words else ""

    if any(word.endswith("brief.toml") for word in words):
        return "brief-tokenizer" if "tokenize" in words else "brief-learner"
    if "tokenize" in words:
        return f"tokenizer-{value('--instance') or 0}"
    if "learn" in words:
        if "--lane" not in words:
            return "learner"
        return f"shard-{value('--shard').partition('/')[0] or 0}"
    return "run" if "run" in words else ""


def resident_bytes(pid: int) -> int:
    """The memory that a process holds; 0 if it has ended."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def send(pid: int, number: signal.Signals) -> bool:
    """Send a signal to a process, if it runs."""
    identity = ProcessId.of(pid)
    return identity is not None and identity.signal(number)
