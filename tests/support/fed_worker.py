"""A tokenizer and a learner in one process, without Kafka: real blocks, metrics and snapshots.

    python -m tests.support.fed_worker FOLDER LEARNER_PORT TOKENIZER_PORT

The log is a corpus that is the same at every start; FOLDER/committed holds the committed offset.
When the process is killed, the next one recovers from the newest snapshot. At the end of its
standard input it writes FOLDER/curves.csv.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from prometheus_client import CollectorRegistry

from pipeline.engine.engine import Engine
from pipeline.events.event import MalformedEvent, parse_event
from pipeline.log.block_reader import SourceBlock
from pipeline.metrics.collectors import (
    LagMetrics,
    LearnedBlock,
    LearnerMetrics,
    Position,
    ProcessMetrics,
    TokenizerMetrics,
)
from pipeline.metrics.health import Health
from pipeline.metrics.log_metrics import LogMetrics
from pipeline.metrics.scrape_target import ScrapeTarget, target_address
from pipeline.metrics.server import MetricsServer
from pipeline.reports.report import write_curves
from pipeline.snapshots.folder import SnapshotFolder
from pipeline.snapshots.restoring import restore_engine
from pipeline.snapshots.snapshot import take_snapshot
from tests.support.scraping import DECIDING_LANES, learn, new_engine, readings

STREAM = "wire"
SOURCE = "synthetic:100000,topics=20"
BLOCK = 64  # so that blocks end at rounds that are points of a curve, up to round 8,192
PACE_SECONDS = 0.15
BLOCKS_TO_A_SNAPSHOT = 30


ANNOUNCED: list[ScrapeTarget] = []  # kept: they are locked while the process lives


def announce(folder: Path, role: str, port: int) -> None:
    """Let Prometheus find the worker, as the workers on Kafka do."""
    address = target_address("127.0.0.1", port)
    name = f"{role} of stream {STREAM}"
    ANNOUNCED.append(ScrapeTarget(folder / "targets", f"wirerank-{role}", name, STREAM, address))


class FedTokenizer:
    """Reads events, some of them malformed, and makes blocks of them."""

    def __init__(self, folder: Path, port: int) -> None:
        registry = CollectorRegistry()
        self.health = Health()
        ProcessMetrics(registry, self.health)
        self._metrics = TokenizerMetrics(registry, STREAM)
        self._lag = LagMetrics(registry, STREAM)
        MetricsServer(registry, self.health, port=port)
        announce(folder, "tokenizer", port)

    def write(self, number: int) -> None:
        reasons = []
        for raw in (b"rubbish", b'{"id": 1}'):
            try:
                parse_event(raw)
            except MalformedEvent as problem:
                reasons.append(problem.reason)
        self._metrics.written(BLOCK + len(reasons), reasons)
        next_ = number * BLOCK
        partitions = {f"{STREAM}.documents-{p}": p for p in range(2)}
        behind = {
            name: Position(next_, next_ + 10 * p, time.time()) for name, p in partitions.items()
        }
        self._lag.polled(behind)
        self.health.moved()
        self.health.ready = True


class FedLearner:
    """Follows the blocks, commits each, and takes snapshots."""

    def __init__(self, folder: Path, port: int) -> None:
        registry = CollectorRegistry()
        self._committed = folder / "committed"
        self._snapshots = SnapshotFolder(folder / "snapshots")
        self.engine: Engine = new_engine(DECIDING_LANES)
        self.health = Health()
        ProcessMetrics(registry, self.health)
        self._metrics = LearnerMetrics(registry, STREAM, topics=10)
        LogMetrics(registry, STREAM)  # as of a learner that trims the log, but has not done so yet
        self._lag = LagMetrics(registry, STREAM)
        MetricsServer(registry, self.health, port=port)
        announce(folder, "learner", port)

    def recover(self) -> Iterator[tuple[int, SourceBlock]]:
        """Follow the log up to the committed block; yields the blocks after it."""
        committed = int(self._committed.read_text()) if self._committed.exists() else 0
        snapshot = self._snapshots.newest([])
        if snapshot is not None:
            restore_engine(self.engine, snapshot)
            path = self._snapshots.files()[0]
            self._metrics.snapshot(path.stat().st_mtime, path.stat().st_size)
        start = snapshot.position if snapshot else 0
        blocks = enumerate(readings(SOURCE, BLOCK))
        for number, reading in blocks:
            if number >= committed:
                self._metrics.learned([self.engine])
                self._metrics.committed()
                self.health.ready = True
                yield number, reading
                break
            if number >= start:
                learn(self.engine, reading)
                time.sleep(PACE_SECONDS / 2)  # long enough for a scrape during a recovery
        yield from blocks

    def follow(self, number: int, reading: SourceBlock) -> None:
        arrived, began = time.time(), time.perf_counter()
        learn(self.engine, reading)
        block = LearnedBlock(BLOCK, time.perf_counter() - began, arrived)
        self._metrics.learned([self.engine], [block])
        partial = self._committed.with_suffix(".partial")
        partial.write_text(str(number + 1))
        os.replace(partial, self._committed)
        self._metrics.committed()
        self._lag.polled({f"{STREAM}.blocks-0": Position(number + 1, number + 3, arrived)})
        self.health.moved()
        if number % BLOCKS_TO_A_SNAPSHOT == BLOCKS_TO_A_SNAPSHOT - 1:
            began = time.perf_counter()
            path = self._snapshots.write(take_snapshot(self.engine, number + 1))
            seconds = time.perf_counter() - began
            self._metrics.snapshot(time.time(), path.stat().st_size, seconds)


def main() -> None:
    folder, learner_port, tokenizer_port = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    tokenizer = FedTokenizer(folder, tokenizer_port)
    learner = FedLearner(folder, learner_port)
    for number, reading in learner.recover():
        tokenizer.write(number)
        learner.follow(number, reading)
        if ended.wait(PACE_SECONDS):
            break
    write_curves(folder / "curves.csv", learner.engine.lanes)


if __name__ == "__main__":
    main()
