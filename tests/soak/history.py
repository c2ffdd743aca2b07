"""What a run left behind, read from files. No code of Wirerank: only the standard library.

kcat, which is based on librdkafka, copies the Kafka topics to files. It reads only committed
records. Each record is a line with its partition, offset, time and the sizes of key and value,
then key and value, then a newline.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMAT = "%p %o %T %K %S\\n%k%s\\n"
TOPICS = ("documents", "rankings", "reference", "dead-letters")


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a Kafka topic; its time is in seconds."""

    partition: int
    offset: int
    time: float
    key: bytes
    value: bytes


@dataclass
class History:
    """Everything that the checker looks at."""

    lanes: list[str]
    sharded: list[str] = field(default_factory=list)  # of these, scores may differ by rounding
    ledger: list[dict[str, Any]] = field(default_factory=list)
    documents: list[Record] = field(default_factory=list)
    rankings: list[Record] = field(default_factory=list)
    reference: list[Record] = field(default_factory=list)
    dead_letters: list[Record] = field(default_factory=list)
    journal: list[dict[str, Any]] = field(default_factory=list)
    memory: list[dict[str, Any]] = field(default_factory=list)
    exits: list[dict[str, Any]] = field(default_factory=list)


def copy_topic(bootstrap: str, topic: str, path: Path, seconds: float = 120.0) -> None:
    """Copy all committed records of a topic to a file."""
    with path.open("wb") as file:
        subprocess.run(
            [
                "kcat", "-C", "-b", bootstrap, "-t", topic, "-o", "beginning", "-e", "-q",
                "-X", "isolation.level=read_committed", "-X", "fetch.message.max.bytes=33554432",
                "-X", "check.crcs=true", "-f", FORMAT,
            ],
            stdout=file, check=True, timeout=seconds,
        )  # fmt: skip


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file that `copy_topic` has written."""
    with path.open("rb") as file:
        while head := file.readline():
            partition, offset, milliseconds, key_size, value_size = map(int, head.split())
            key, value = file.read(max(0, key_size)), file.read(max(0, value_size))
            if file.read(1) != b"\n":
                raise ValueError(f"{path} is damaged after offset {offset}")
            yield Record(partition, offset, milliseconds / 1000, key, value)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines; a line that was cut at the end is dropped."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    entries = []
    for number, line in enumerate(lines):
        try:
            entries.append(json.loads(line))
        except ValueError:
            if number < len(lines) - 1:
                raise
    return entries


def read_history(folder: Path, lanes: list[str], sharded: list[str]) -> History:
    """The history of a run."""

    def records(name: str) -> list[Record]:
        path = folder / f"{name}.records"
        found = list(read_records(path)) if path.exists() else []
        return sorted(found, key=lambda record: (record.partition, record.offset))

    return History(
        lanes=lanes,
        sharded=sharded,
        ledger=read_lines(folder / "ledger.jsonl"),
        documents=records("documents"),
        rankings=records("rankings"),
        reference=records("reference"),
        dead_letters=records("dead-letters"),
        journal=read_lines(folder / "faults.jsonl"),
        memory=read_lines(folder / "memory.jsonl"),
        exits=read_lines(folder / "exits.jsonl"),
    )
