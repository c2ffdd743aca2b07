"""A real Prometheus that scrapes real runs at one second, by the configuration that is shipped."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from deploy.kafka.ports import LOOPBACK, PortLease
from pipeline.corpora import open_source
from tests.conftest import REPOSITORY
from tests.support.command_line import WIRERANK
from tests.support.fed_worker import BLOCKS_TO_A_SNAPSHOT
from tests.support.prometheus_server import Prometheus, program

DEPLOYED = REPOSITORY / "deploy" / "prometheus"
ENOUGH_SCRAPES = 5
PATIENCE_SECONDS = 120.0
ORDINAL = "prank:ranks=3"  # a lane of the replay, which learns how many topics a document has
UNMARKED = "frequency"  # a lane of the replay that assigns topics, but marks none for review


def configuration(replay: int) -> str:
    """The shipped configuration, but for the port of a replay, which is a free one.

    Workers are found by their files in `targets`, beside the configuration.
    """
    text = (DEPLOYED / "prometheus.yml").read_text()
    pattern = r'(job_name: wirerank-replay\n\s+static_configs:\n\s+- targets: )\["[^]]*"\]'
    text, replaced = re.subn(pattern, rf'\g<1>["{LOOPBACK}:{replay}"]', text)
    assert replaced == 1, "prometheus.yml has no job wirerank-replay"
    return re.sub(r"- (rules/)", rf"- {DEPLOYED}/\1", text)


def wait_for(done: Callable[[], Any], what: str) -> None:
    """Wait until something holds."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.1)


class PacedReplay:
    """`wirerank replay -`, fed with a stretch of a corpus every now and then."""

    def __init__(self, folder: Path, port: int) -> None:
        self.curves = folder / "replay.csv"
        command = ["replay", "-", "--lane", "mmp:loss=2", "--lane", ORDINAL, "--quiet"]
        command += ["--lane", f"{UNMARKED}:assign=recall:0.5,name={UNMARKED}"]
        command += ["--metrics", str(port), "--curves", str(self.curves)]
        command += ["--dead-letters", str(folder / "dead.jsonl")]
        self._process = subprocess.Popen(
            [*WIRERANK, *command], cwd=REPOSITORY,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        for number, raw in enumerate(open_source("synthetic:100000,topics=20,seed=3")):
            event = orjson.loads(raw)
            event["rank"] = min(3, max(1, len(event["topics"])))
            pipe.write(orjson.dumps(event) + b"\n")
            if number % 32 == 31:
                pipe.flush()
                if self._stop.wait(0.1):
                    break
        pipe.close()

    def finish(self) -> None:
        """Let it come to its end."""
        self._stop.set()
        self._thread.join(30)
        assert self._process.wait(30) == 0

    def kill(self) -> None:
        """End it at once, if it runs."""
        self._process.kill()
        self._process.wait()


class Worker:
    """`tests.support.fed_worker` as a process."""

    def __init__(self, folder: Path, learner_port: int, tokenizer_port: int) -> None:
        command = [sys.executable, "-m", "tests.support.fed_worker", str(folder)]
        self._command = [*command, str(learner_port), str(tokenizer_port)]
        self.curves = folder / "curves.csv"
        self._committed = folder / "committed"
        self.start()

    def start(self) -> None:
        """Start it, or start it again where it was."""
        self._process = subprocess.Popen(self._command, cwd=REPOSITORY, stdin=subprocess.PIPE)

    def since_snapshot(self) -> int:
        """Blocks that it would have to follow again if it died now."""
        return int(self._committed.read_text()) % BLOCKS_TO_A_SNAPSHOT

    def kill(self) -> None:
        """End it at once (SIGKILL), if it runs."""
        self._process.kill()
        self._process.wait()

    def finish(self) -> None:
        """Let it come to its end."""
        self._process.communicate(timeout=120)
        assert self._process.returncode == 0


class Monitored:
    """What Prometheus saw of a worker that was killed and came back, and of a replay."""

    def __init__(self, prometheus: Prometheus, worker: Worker, replay: PacedReplay) -> None:
        self.prometheus = prometheus
        self._wait_for_scrapes("wirerank-replay")
        self._wait_for_scrapes("wirerank-learner")
        wait_for(lambda: worker.since_snapshot() >= 20, "a good way from the last snapshot")
        worker.kill()
        wait_for(lambda: prometheus.query('up{job="wirerank-learner"} == 0'), "the kill to be seen")
        self.killed = time.time()
        worker.start()
        self._wait_for_scrapes("wirerank-learner", since=self.killed)
        wait_for(lambda: prometheus.query("ALERTS"), "the alert rules to be evaluated")
        wait_for(lambda: prometheus.query("wirerank_snapshot_seconds"), "a snapshot since then")
        self.end = time.time()
        worker.finish()
        replay.finish()
        self.curves = {
            "wirerank-learner": read_curves(worker.curves),
            "wirerank-replay": read_curves(replay.curves),
        }

    def _wait_for_scrapes(self, job: str, since: float = 0.0) -> None:
        name = f'wirerank_rounds_total{{job="{job}"}}'

        def enough() -> bool:
            answer = self.prometheus.query(f"{name}[10m]")
            times = {t for series in answer for t, value in series["values"] if float(value) > 0}
            return len([t for t in times if t > since]) >= ENOUGH_SCRAPES

        wait_for(enough, f"{ENOUGH_SCRAPES} scrapes of {job}")

    def query(self, expression: str) -> list[Any]:
        """The result of an instant query at the end, while everything still ran."""
        return self.prometheus.query(expression, self.end)

    def samples(self, selector: str) -> list[tuple[dict[str, str], dict[float, float]]]:
        """The raw samples of series: labels, and values by the time of their scrape."""
        return [
            (series["metric"], {t: float(value) for t, value in series["values"]})
            for series in self.query(f"{selector}[30m]")
        ]


def read_curves(path: Path) -> dict[tuple[str, int, str], float]:
    """A curves file, by lane, round and loss."""
    with path.open(newline="") as file:
        return {
            (row["lane"], int(row["round"]), row["loss"]): float(row["value"])
            for row in csv.DictReader(file)
        }


@contextmanager
def monitored(folder: Path) -> Iterator[Monitored]:
    """Run it all; about twenty seconds."""
    program("prometheus")
    leases = {job: PortLease() for job in ("learner", "tokenizer", "replay")}
    ports = {f"wirerank-{job}": lease.port for job, lease in leases.items()}
    prometheus = Prometheus(folder, configuration(ports["wirerank-replay"]), folder / "data")
    try:
        wait_for(prometheus.ready, "Prometheus")
        worker = Worker(folder, ports["wirerank-learner"], ports["wirerank-tokenizer"])
        replay = PacedReplay(folder, ports["wirerank-replay"])
        try:
            yield Monitored(prometheus, worker, replay)
        finally:
            worker.kill()
            replay.kill()
    finally:
        prometheus.close()
        for lease in leases.values():
            lease.release()
