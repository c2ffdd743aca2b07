"""Serving a model over HTTP: requests per second, latency at half of the load, and lists.

Server and load generator share the cores. A linear model of scikit-learn behind the same server is
loaded in the same way. Processor time is that of the serving processes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import orjson

from learners.cores import usable_cores
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.ranking.rank import RankSettings, rank
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from tests.bench.workload import FOUR_LANES

SECONDS, WARM_SECONDS = 8.0, 2.0
CONNECTIONS = 64
LIST_DOCUMENTS, LIST_CONNECTIONS = 500, 4
TURNS = 3


class Result(NamedTuple):
    """What a load generator saw."""

    per_second: float
    median: float  # milliseconds
    p99: float
    failures: int
    processor: float  # microseconds per request


class Server(NamedTuple):
    """A server of models, and where it listens."""

    pid: int
    port: int

    def processor_seconds(self) -> float:
        """Return the processor time of the processes that answer."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        ticks = 0
        for child in children:
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def serving(*arguments: str) -> Iterator[Server]:
    """Start a server, and end it."""
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stdin is not None
    try:
        for line in process.stderr:
            if port := re.search(r" at http://[^/]*:([0-9]+)/", line):
                yield Server(process.pid, int(port[1]))
                return
            print(line, end="", file=sys.stderr)
        raise AssertionError("the server did not start")
    finally:
        process.stdin.close()
        if "serve" in arguments:
            process.terminate()
        process.wait(30)
        process.stderr.close()


def load(server: Server, bodies: Path, connections: int, seconds: float, rate: float = 0) -> Result:
    """Load a server, and return what came of it."""
    arguments = [str(server.port), str(bodies), str(connections), str(seconds), str(rate)]
    before = server.processor_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.http_load", *arguments],
        check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    processor = server.processor_seconds() - before
    result = orjson.loads(done.stdout)
    latencies = result["latencies"]
    count = len(latencies)
    return Result(
        count / seconds,
        1e3 * latencies[count // 2],
        1e3 * latencies[min(count - 1, int(0.99 * count))],
        result["failures"],
        1e6 * processor / count,
    )


def measure_one(name: str, server: Server, bodies: Path) -> None:
    """Print the most requests per second, and the latency at half of that and at 1,000."""
    load(server, bodies, CONNECTIONS, WARM_SECONDS)
    most = max(
        (load(server, bodies, CONNECTIONS, SECONDS) for _ in range(TURNS)),
        key=lambda result: result.per_second,
    )
    show(f"{name}, as many as it can", most)
    for rate in (1000.0, most.per_second / 2):
        paced = min(
            (load(server, bodies, CONNECTIONS, SECONDS, rate) for _ in range(TURNS)),
            key=lambda result: result.p99,
        )
        show(f"{name}, {rate:,.0f}/s", paced)


def show(name: str, result: Result) -> None:
    """Print a row."""
    print(
        f"  {name:<36}{result.per_second:10,.0f}{result.median:11.1f}{result.p99:9.1f}"
        f"{result.processor:14.0f}{result.failures:10}",
        flush=True,
    )


def measure_lists(server: Server, model: Path, source: Path, events: list[bytes]) -> None:
    """Print the time per document of lists, beside that of `rank`."""
    parts = [events[i : i + LIST_DOCUMENTS] for i in range(0, len(events), LIST_DOCUMENTS)]
    bodies = source.with_name("lists")
    bodies.write_bytes(b"\n".join(b'{"documents":[%b]}' % b",".join(part) for part in parts))
    output, dead = Path(os.devnull), source.with_name("dead.jsonl")
    settings = RankSettings(model, str(source), rankings=output, dead_letters=dead)
    served, ranked = list[float](), list[float]()
    for _ in range(TURNS):
        result = load(server, bodies, LIST_CONNECTIONS, SECONDS)
        assert not result.failures
        served.append(1e6 / (result.per_second * LIST_DOCUMENTS))
        ranked.append(1e6 * rank(settings, Progress()).seconds / len(events))
    print(
        f"  lists of {LIST_DOCUMENTS}: {min(served):.0f} us per document; `wirerank rank`: "
        f"{min(ranked):.0f} us; times rank {min(served) / min(ranked):.2f}"
    )


def run(documents: int, folder: Path) -> None:
    """Print a table."""
    events = list(SyntheticNewswire(documents=documents))
    source, model, bodies = folder / "served.jsonl", folder / "served.model", folder / "bodies"
    source.write_bytes(b"\n".join(events))
    bodies.write_bytes(b"\n".join(events[:1000]))
    settings = ReplaySettings(
        str(source), FOUR_LANES, dead_letters=folder / "dead.jsonl", save=model
    )
    replay(settings, Progress())
    print(
        f"\nserving with {usable_cores()} processes, {CONNECTIONS} connections "
        f"(best of {TURNS} turns)"
    )
    print(f"{'':38}{'requests/s':>10}{'median ms':>11}{'p99 ms':>9}{'processor us':>14}  failures")
    with serving("pipeline", "serve", str(model), "--port", "0") as server:
        measure_one("four lanes", server, bodies)
        measure_lists(server, model, source, events)
    with serving("tests.bench.sklearn_server", str(source), str(usable_cores())) as server:
        measure_one("scikit-learn, one model", server, bodies)
