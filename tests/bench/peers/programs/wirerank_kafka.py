"""Wirerank on Kafka: a tokenizer and a learner as two processes, one published lane."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

from tests.bench.peers.programs.common import read_task
from tests.bench.stream import PARTITIONS, records_in, span
from tests.support.kafka_stream import Streaming

WORKERS = ("learn", "tokenize-0")
WARM_UP = 100  # documents that are ranked before the clock starts
PATIENCE_S = 300.0


def cost(pid: int) -> tuple[float, float]:
    """The processor time of a process in seconds, and its peak memory in MiB."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    status = Path(f"/proc/{pid}/status").read_text()
    mib = int(status.split("VmHWM:")[1].split()[0]) / 1024
    return ticks / os.sysconf("SC_CLK_TCK"), mib


def main() -> None:
    task = read_task()
    scratch = Path(task.options["scratch"])
    settings = f"max_topics = {max(2048, len(task.topics))}\ntopics = {json.dumps(task.topics)}"
    lanes = [task.options["lanes"]]
    bootstrap = task.options["bootstrap"]
    with Streaming(bootstrap, scratch, lanes, PARTITIONS, (), settings, 600) as streaming:
        raw, rankings = task.raw(), streaming.stream.rankings
        kafka = streaming.config.kafka

        def wait_for(documents: int) -> None:
            until = time.monotonic() + PATIENCE_S
            while records_in(kafka, rankings) < documents:
                if time.monotonic() > until:
                    raise SystemExit("the rankings did not come in time")
                time.sleep(0.2)

        for name in WORKERS:
            streaming.start(name, program=("consumers",))
        streaming.produce(raw[:WARM_UP])
        wait_for(WARM_UP)
        # The tokenizer sleeps until all documents are there: writing them is not measured.
        processes = [streaming.processes[name].pid for name in WORKERS]
        os.kill(processes[1], signal.SIGSTOP)
        streaming.produce(raw[WARM_UP:])
        before = sum(cost(pid)[0] for pid in processes)
        began = time.time()
        os.kill(processes[1], signal.SIGCONT)
        wait_for(len(raw))
        costs = [cost(pid) for pid in processes]
        published = streaming.rankings(len(raw), seconds=30)
        for name in reversed(WORKERS):
            streaming.end(name)
        _, last = span(published)
    result = {
        "documents": len(raw),
        "seconds": (last - began) * len(raw) / (len(raw) - WARM_UP),
        "processor": (sum(seconds for seconds, _ in costs) - before)
        * (len(raw) / (len(raw) - WARM_UP)),
        "mib": sum(mib for _, mib in costs),
        "average_precision": None,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
