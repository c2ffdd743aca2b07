"""Runs a stream whose log is trimmed, under a steady load, and kills its learners at random."""

from __future__ import annotations

import faulthandler
import random
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path

from consumers.kafka.clients import new_producer
from consumers.sharding.snapshot_folders import stream_folder
from deploy.kafka import Cluster, Options
from learners.specs import parse_spec
from pipeline.corpora import open_source
from pipeline.snapshots.folder import SUFFIX
from tests.bounded.observer import Observer
from tests.bounded.plan import DIVIDED, FIRST, LATE, SHARDS, TOPICS, Plan
from tests.bounded.sizes import Sample, allocated
from tests.bounded.verdict import (
    LateLane,
    Ranked,
    late_violations,
    ranking_violations,
    size_violations,
    undisturbed,
)
from tests.support.kafka_stream import Streaming, eventually
from tests.support.scraping import scrape_url
from tests.support.trimmed_stream import log_of

SAMPLE_SECONDS = 2.0
PATIENCE_SECONDS = 240.0
LAST_ANSWERS_SECONDS = 90.0
START_SECONDS = 600.0  # the first time, kernels are compiled
LEARNERS = ("learn", *(f"learn@{DIVIDED}#{number}" for number in range(SHARDS)))


class Load:
    """Writes documents at a steady rate, in a thread of its own."""

    def __init__(self, streaming: Streaming, plan: Plan) -> None:
        self.sent = 0
        self._stopping = threading.Event()
        self._streaming, self._rate = streaming, plan.rate
        self._events = open_source(source(plan))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop, and wait until everything is written."""
        self._stopping.set()
        self._thread.join(LAST_ANSWERS_SECONDS)
        if self._thread.is_alive():
            faulthandler.dump_traceback()
            raise AssertionError(f"the load did not end; {self.sent} documents were sent")

    def _run(self) -> None:
        producer = new_producer(self._streaming.config.kafka)
        due, futures = time.monotonic(), []
        for event in self._events:
            due = max(due + 1 / self._rate, time.monotonic() - 1.0)
            if self._stopping.wait(max(0.0, due - time.monotonic())):
                break
            futures.append(producer.send(self._streaming.documents, event, partition=0))
            self.sent += 1
        producer.flush(60)
        for future in futures:
            future.get(0)
        producer.close(timeout=5)


def source(plan: Plan) -> str:
    """The source of the documents, which is drawn from the seed."""
    most = int(plan.rate * plan.seconds) + 1
    return f"synthetic:{most},topics={TOPICS},seed={plan.seed}"


class BoundedRun:
    """One run on a broker of its own."""

    def __init__(self, plan: Plan, folder: Path, say: Callable[[str], None]) -> None:
        self._plan, self._folder, self._say = plan, folder, say
        self._random = random.Random(f"kills of {plan.seed}")
        self.samples: list[Sample] = []
        self.late: list[LateLane] = []
        self.kills = 0

    def run(self) -> list[str]:
        """Run, and return the violations."""
        options = Options(settings=self._plan.broker_settings)
        self._folder.mkdir(parents=True, exist_ok=True)
        with Cluster(self._folder / "kafka", options=options) as kafka:
            self._data = kafka.brokers[0].folder / "data"
            with Streaming(
                kafka.bootstrap, self._folder, [FIRST, DIVIDED], shards={DIVIDED: SHARDS},
                settings=self._plan.stream_settings, every=self._plan.snapshot_seconds,
            ) as self._streaming:  # fmt: skip
                return self._run_stream()

    def _run_stream(self) -> list[str]:
        streaming = self._streaming
        name = parse_spec(DIVIDED).name
        self._observer = Observer(streaming.config, streaming.stream, name)
        for worker in ("tokenize-0", *LEARNERS):
            streaming.start(worker)
        for worker in LEARNERS:  # a learner that is killed while it compiles begins again
            ready = partial(self._is_ready, worker)
            assert eventually(ready, START_SECONDS), streaming.log(worker)
        self._load = Load(streaming, self._plan)
        try:
            self._disturb()
        finally:
            self._load.stop()
        self._say(f"{self._load.sent:,} documents sent; waiting until all are ranked")
        streaming.wait_learned(PATIENCE_SECONDS)
        wanted = self._expected_counts()
        eventually(lambda: self._ranked() == wanted, 30)
        codes = {worker: streaming.end(worker) for worker in list(streaming.processes)}
        self._observer.close()
        self._say("comparing all rankings with those of an undisturbed run")
        return [
            *(f"{worker} ended with {code}" for worker, code in codes.items() if code),
            *([f"the log or the rankings: {self._observer.error}"] * bool(self._observer.error)),
            *size_violations(self._plan, self.samples),
            *late_violations(self.late),
            *self._ranking_violations(),
        ]

    def _disturb(self) -> None:
        """Take samples, kill learners, and add the late lanes, until the time is over."""
        plan, began = self._plan, time.monotonic()
        additions = [plan.seconds * part for part in (1 / 3, 2 / 3)]
        next_kill = self._next_kill(0.0)
        while (now := time.monotonic() - began) < plan.seconds:
            self._sample(now)
            may_add = len(self.late) < len(LATE) and self.samples[-1].log_first > 0
            if may_add and now > additions[len(self.late)]:
                self._add_lane()
            elif now > next_kill:
                victim = self._random.choice(LEARNERS)
                self._say(f"kill -9 {victim}")
                self._streaming.kill(victim)
                self._streaming.start(victim)
                self.kills += 1
                next_kill = self._next_kill(now)
            time.sleep(SAMPLE_SECONDS)
        self._sample(time.monotonic() - began)

    def _next_kill(self, now: float) -> float:
        return now + self._random.uniform(0.5, 1.5) * self._plan.kill_seconds

    def _add_lane(self) -> None:
        """Add a lane to the configuration, as an operator does, and restart the learner."""
        number = len(self.late)
        spec = LATE[number]
        name = parse_spec(spec).name
        assert self._streaming.end("learn") == 0
        lanes = [FIRST, DIVIDED, *LATE[: number + 1]]
        self._streaming.configure(lanes, shards={DIVIDED: SHARDS})
        first = log_of(self._streaming).first
        self._streaming.start("learn")
        self._say(f"added {name}, while the log begins at offset {first:,}")
        eventually(lambda: name in self._streaming.shown_lanes("learn"), 60)
        pattern = rf"{name}: added after .* begins at offset (\d+)"
        logged = re.search(pattern, self._streaming.log("learn"))
        shown = self._scraped(name)
        self.late.append(LateLane(name, first, int(logged[1]) if logged else None, shown))

    def _is_ready(self, worker: str) -> bool:
        try:
            return scrape_url(self._streaming.address(worker)).value("wirerank_ready") == 1
        except (OSError, ValueError):
            return False  # it does not serve metrics yet

    def _scraped(self, lane: str) -> int | None:
        try:
            scraped = scrape_url(self._streaming.address("learn"))
        except (OSError, ValueError):
            return None
        value = scraped.get("wirerank_lane_first_offset", lane=lane)
        return None if value is None else int(value)

    def _sample(self, seconds: float) -> None:
        stream, log = self._streaming.stream, log_of(self._streaming)
        snapshots = stream_folder(self._streaming.config, stream)
        sample = Sample(
            seconds,
            self._load.sent,
            self._observer.log_bytes,
            log.first,
            log.end,
            allocated(self._data / f"{stream.blocks}-0"),
            allocated(self._data / f"{stream.rankings}-0"),
            allocated(snapshots),
            sum(1 for _ in snapshots.rglob(f"*{SUFFIX}")),
            2 + len(self.late),
            self.kills,
        )
        if not self.samples or self.samples[-1].seconds // 60 != seconds // 60:
            self._say(
                f"{sample.documents:,} documents; log {sample.log_disk:,} bytes on disk, "
                f"{log.end - log.first:,} of {log.end:,} records"
            )
        self.samples.append(sample)

    def _starts(self) -> dict[str, int]:
        """By lane: how many documents came before its beginning."""
        starts = {FIRST: 0, DIVIDED: 0}
        for spec, lane in zip(LATE, self.late, strict=False):
            before = self._observer.documents_before
            place = -1 if lane.logged is None else lane.logged
            starts[spec] = before[place] if 0 <= place < len(before) else self._load.sent
        return starts

    def _expected_counts(self) -> dict[str, int]:
        return {
            parse_spec(spec).name: self._load.sent - start for spec, start in self._starts().items()
        }

    def _ranked(self) -> dict[str, int]:
        return {lane: len(rankings) for lane, rankings in self._observer.rankings.items()}

    def _ranking_violations(self) -> list[str]:
        events = list(islice(open_source(source(self._plan)), self._load.sent))
        expected: dict[str, list[Ranked]] = {}
        for spec, start in self._starts().items():
            expected |= undisturbed(
                self._streaming.stream, [spec], events[start:], divided=spec == DIVIDED
            )
        return ranking_violations(self._observer.rankings, expected)
