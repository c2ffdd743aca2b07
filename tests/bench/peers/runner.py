"""Runs programs as processes, and keeps each result in a file, so that a run can be resumed."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.bench.peers.corpus import Corpus, write_corpus
from tests.conftest import REPOSITORY

PEERS_PYTHON = REPOSITORY / ".venv-bench" / "bin" / "python"
RESULTS = REPOSITORY / "bench-results" / "peers"
MEMORY_LIMIT = 16 << 30  # bytes that one program may allocate
GRACE_S = 240.0  # beyond the limit: for the start, what is not timed, and one slow step


@dataclass(frozen=True)
class Program:
    """A program to compare: its name in tables, its module, and its options."""

    name: str
    module: str
    options: Mapping[str, str] = field(default_factory=dict)
    ours: bool = False
    measured_apart: bool = False  # quality comes from a second run

    @property
    def key(self) -> str:
        """The name in file names."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    @property
    def python(self) -> str:
        """The interpreter that has its packages."""
        return sys.executable if self.ours else str(PEERS_PYTHON)


@dataclass(frozen=True)
class Result:
    """What one run of a program gave."""

    documents: int  # that were done before the time limit
    seconds: float
    processor: float  # seconds of processor time
    mib: float  # peak memory
    average_precision: list[float] | None = None  # per document; NaN where it was not ranked
    failure: str = ""

    @property
    def microseconds(self) -> float:
        """Wall time per document."""
        return 1e6 * self.seconds / max(1, self.documents)

    @property
    def processor_microseconds(self) -> float:
        """Processor time per document."""
        return 1e6 * self.processor / max(1, self.documents)


def failed(why: str) -> Result:
    """The result of a program that did not end well."""
    return Result(0, 0.0, 0.0, 0.0, None, why)


def limit_memory() -> None:
    """Let a program fail by itself before the machine runs out of memory."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))


def run_program(
    program: Program, corpus: Corpus, limit: float, documents: int = 0, **options: str
) -> Result:
    """Run a program on a corpus in a process of its own."""
    folder = write_corpus(corpus, RESULTS / "corpora")
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    if not program.ours:
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as scratch:
        given = {**program.options, **options, "scratch": scratch}
        command = [program.python, "-m", f"tests.bench.peers.programs.{program.module}"]
        command += [str(folder), str(documents), str(limit)]
        command += [f"{name}={value}" for name, value in given.items()]
        try:
            done = subprocess.run(
                command, cwd=REPOSITORY, env=environment, capture_output=True, text=True,
                timeout=limit + GRACE_S, check=False, preexec_fn=limit_memory,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return failed(f"not done after {limit + GRACE_S:.0f} s")
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        out = "MemoryError" in done.stderr or "bad_alloc" in done.stderr
        return failed(f"more than {MEMORY_LIMIT >> 30} GiB" if out else last[:200])
    return Result(**json.loads(done.stdout.splitlines()[-1]))


class Store:
    """Results by key, one file each. What is there is not run again."""

    def __init__(self, folder: Path = RESULTS) -> None:
        self._folder = folder / "runs"
        self._folder.mkdir(parents=True, exist_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def get(self, key: str) -> Result | None:
        """The stored result, if there is one."""
        path = self._path(key)
        return Result(**json.loads(path.read_text())) if path.exists() else None

    def put(self, key: str, result: Result) -> None:
        """Store a result."""
        self._path(key).write_text(json.dumps(asdict(result)))

    def runs(self, start: str) -> list[Result]:
        """All stored results whose keys are `start` and a number, in order."""
        paths = sorted(self._folder.glob(f"{start}--[0-9]*.json"))
        return [Result(**json.loads(path.read_text())) for path in paths]
