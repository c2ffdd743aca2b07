"""What all programs share: the documents, the clock, and the result on standard output.

The arguments are the folder of the corpus, the number of documents (0: all), the limit in seconds
of processor time, and options as `name=value`.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import orjson

TOP = 10  # topics of a ranking that are written
WORD = re.compile(r"\w+")


@dataclass
class Task:
    """What a program has to do."""

    folder: Path
    documents: int
    limit: float
    options: dict[str, str]

    @property
    def events(self) -> Path:
        return self.folder / "events.jsonl"

    @property
    def topics(self) -> list[str]:
        """The names of all topics, in an order that says nothing about them."""
        return (self.folder / "topics.txt").read_text().split()

    def raw(self) -> list[bytes]:
        """The events as they come in."""
        return self.events.read_bytes().splitlines()[: self.documents or None]


def read_task() -> Task:
    """The task on the command line."""
    folder, documents, limit, *options = sys.argv[1:]
    given = dict(option.split("=", 1) for option in options)
    return Task(Path(folder), int(documents), float(limit), given)


@dataclass
class Clock:
    """Adds up wall time and processor time; measuring quality happens while it stands still."""

    seconds: float = 0.0
    processor: float = 0.0
    _began: tuple[float, float] = field(default=(0.0, 0.0))

    def __enter__(self) -> Clock:
        self._began = time.perf_counter(), time.process_time()
        return self

    @property
    def running(self) -> float:
        """The seconds of processor time until now, while the clock is running."""
        return self.processor + time.process_time() - self._began[1]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds += time.perf_counter() - self._began[0]
        self.processor += time.process_time() - self._began[1]


def text_of(event: dict[str, Any]) -> str:
    """The title and the text of an event."""
    return f"{event.get('title', '')}\n{event['text']}"


def parse(raw: bytes) -> dict[str, Any]:
    """Decode an event."""
    event: dict[str, Any] = orjson.loads(raw)
    return event


def average_precision(scores: np.ndarray, relevant: Sequence[int]) -> float:
    """The average precision of one ranking; equal scores are ranked by topic."""
    ranks = sorted(
        int((scores > scores[topic]).sum() + (scores[:topic] == scores[topic]).sum()) + 1
        for topic in relevant
    )
    return sum(n / rank for n, rank in enumerate(ranks, 1)) / len(ranks)


def best(scores: np.ndarray) -> np.ndarray:
    """The best topics by score."""
    if len(scores) <= TOP:
        return np.argsort(-scores, kind="stable")
    some = np.argpartition(-scores, TOP)[:TOP]
    return some[np.argsort(-scores[some], kind="stable")]


def peak_mib() -> float:
    """The peak memory of this process.

    Not `ru_maxrss`, which a process inherits from the one that started it.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def finish(documents: int, clock: Clock, quality: Sequence[float] | None = None) -> None:
    """Print the result: how many documents were done, at which cost, and how well."""
    result = {
        "documents": documents,
        "seconds": clock.seconds,
        "processor": clock.processor,
        "mib": peak_mib(),
        "average_precision": None if quality is None else [round(q, 5) for q in quality],
    }
    print(json.dumps(result))
