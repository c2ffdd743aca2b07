"""A stream on a real broker, its workers as processes, for tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from kafka import TopicPartition
from kafka.errors import KafkaError

from consumers.config import read_config
from consumers.kafka.client_types import Message
from consumers.kafka.clients import new_admin, new_consumer, new_producer
from consumers.kafka.topics import ensure_topics
from consumers.kafka_names import lane_consumer_group, tokenizer_consumer_group
from consumers.settings import Config
from consumers.stream_settings import StreamSettings
from learners.specs import parse_spec
from pipeline.engine.engine import Engine
from pipeline.engine.ranking_events import ranking_events
from pipeline.log.coverage import Coverage
from pipeline.log.record import decode_record
from pipeline.snapshots.folder import SnapshotFolder, read_snapshot
from pipeline.snapshots.snapshot import Snapshot, take_snapshot
from tests.conftest import REPOSITORY
from tests.support.fork_server import ForkedProcess, fork_server
from tests.support.scraping import scrape_url

CONFIG = """
[kafka]
bootstrap = "{bootstrap}"
{kafka}

[metrics]
port = 0
topics = 8

[snapshots]
folder = "{folder}/snapshots"
every_seconds = {every}

[[streams]]
name = "{name}"
partitions = {partitions}
{settings}
lanes = [{lanes}]
"""
SLOW_BROKER_S = 15.0  # how long a busy broker may take to answer
PATIENCE_S = 180.0  # how long a test waits; measurements, not tests, check how fast things are
SMALL = "block = 40\nmax_terms = 3000"


class Streaming:
    """One stream: its configuration, its topics, and the processes that work on it."""

    def __init__(
        self,
        bootstrap: str,
        folder: Path,
        lanes: Iterable[str],
        partitions: int = 1,
        watched: Iterable[str] = (),
        settings: str = SMALL,
        every: float = 1.0,
        kafka: str = "",
        shards: Mapping[str, int] | None = None,
    ) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.path = folder / "wirerank.toml"
        self.name = f"test-{os.getpid()}-{time.time_ns()}"
        self.partitions = partitions
        self.settings = settings
        self.every = every
        self.environment: dict[str, str] = {}  # settings that only the workers get
        self.kafka = kafka
        self.processes: dict[str, ForkedProcess | subprocess.Popen[bytes]] = {}
        self._began: dict[str, int] = {}  # by worker: the size of its log at its last start
        self.configure(lanes, watched, shards)
        ensure_topics(self.config.kafka, self.stream)

    def configure(
        self,
        lanes: Iterable[str],
        watched: Iterable[str] = (),
        shards: Mapping[str, int] | None = None,
        *,
        shared_memory: bool = True,
    ) -> None:
        """Write the configuration: published lanes, and lanes that are only watched.

        `shards` gives the number of shards of published lanes that have more than one. Without
        shared memory, they are as if on several machines.
        """
        divided, meet = shards or {}, "" if shared_memory else ", shared_memory = false"
        specs = [f'{{spec = "{lane}", shards = {divided.get(lane, 1)}{meet}}}' for lane in lanes]
        specs += [f'{{spec = "{lane}", publish = false}}' for lane in watched]
        self.text = CONFIG.format(
            bootstrap=self.bootstrap,
            kafka=self.kafka,
            folder=self.folder,
            every=self.every,
            name=self.name,
            partitions=self.partitions,
            settings=self.settings,
            lanes=", ".join(specs),
        )
        self.path.write_text(self.text)
        self.config: Config = read_config(self.path, {})
        self.stream: StreamSettings = self.config.streams[0]

    @property
    def documents(self) -> str:
        """The first Kafka topic of documents."""
        return self.stream.documents[0]

    def __enter__(self) -> Streaming:
        return self

    def __exit__(self, kind: type[BaseException] | None, *unused: object) -> None:
        if kind is not None:
            print(self.diagnosis())
        for name in list(self.processes):
            self.kill(name)

    def diagnosis(self) -> str:
        """The logs of the workers, with the stacks of those that run, for a failed test."""
        for process in self.processes.values():
            process.send_signal(signal.SIGUSR1)
        time.sleep(1.0)
        lines = [time.strftime("now it is %H:%M:%S")]
        for log in sorted(self.folder.glob("*.log")):
            shown = [line for line in log.read_text().splitlines() if " settings: " not in line]
            lines += [f"---- {log.name}", *shown[-150:]]
        return "\n".join(lines)

    def endings(self) -> str:
        """The exit code of each worker, or that it runs, with the last lines of its log."""
        lines = []
        for name, process in self.processes.items():
            code = process.poll()
            ending = "runs" if code is None else f"ended with {code}"
            lines.append(f"---- {name}: {ending}\n{self.log(name)[-1500:]}")
        return "\n".join(lines)

    def start(self, name: str, *options: str, program: Iterable[str] | None = None) -> None:
        """Start a worker: `learn`, `learn@LANE`, `learn@LANE#SHARD` or `tokenize-N`.

        A `program`, such as `("consumers",)`, is started from scratch. See `fork_server`.
        """
        command, _, lane = name.partition("@")
        lane, _, shard = lane.partition("#")
        command, _, instance = command.partition("-")
        arguments = [command, str(self.path), *options]
        if instance:
            arguments += ["--instance", instance]
        if lane:
            arguments += ["--lane", lane]
        if shard:
            shards = {known.parsed.name: known.shards for known in self.stream.lanes}[lane]
            arguments += ["--shard", f"{shard}/{shards}"]
        path = self.folder / f"{name}.log"
        path.touch()  # a forked worker opens it a moment later
        self._began[name] = path.stat().st_size
        if program is None:
            self.processes[name] = fork_server().start(arguments, path, self.environment)
            return
        with path.open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", *program, *arguments],
                cwd=REPOSITORY, stdout=log, stderr=log, env={**os.environ, **self.environment},
            )  # fmt: skip

    def kill(self, name: str) -> None:
        """kill -9."""
        process = self.processes.pop(name)
        process.kill()
        process.wait(30)

    def end(self, name: str) -> int:
        """SIGTERM, and wait; returns the exit code."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        return process.wait(60)

    def code(self, name: str, seconds: float = PATIENCE_S) -> int | None:
        """The exit code of a worker that ends by itself."""
        process = self.processes[name]
        assert eventually(lambda: process.poll() is not None, seconds), self.log(name)
        return process.poll()

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()

    def address(self, name: str) -> str:
        """The URL of the metrics of a worker's newest process; empty until they are served."""
        output = (self.folder / f"{name}.log").read_bytes()[self._began[name] :].decode()
        match = re.search(r"metrics = (http://\S+)", output)
        return match[1] if match else ""

    def shown_lanes(self, name: str) -> set[str]:
        """The lanes in the metrics of a worker; a lane is there once it has caught up."""
        try:
            series = scrape_url(self.address(name)).samples
        except (OSError, ValueError):
            return set()  # the worker is not ready yet
        return {labels["lane"] for labels in (dict(key) for _, key in series) if "lane" in labels}

    def produce(self, events: Iterable[bytes], partitions: Sequence[int] = ()) -> None:
        """Write documents, one partition after another, over the given partitions or over all."""
        turns = partitions or range(self.stream.partitions)
        producer = new_producer(self.config.kafka, delivery_timeout_ms=60_000)
        sent = [
            producer.send(self.documents, event, partition=turns[n % len(turns)])
            for n, event in enumerate(events)
        ]
        producer.flush(60)
        for future in sent:
            future.get(0)
        producer.close(timeout=5)

    def read(
        self, topic: str, partitions: int, wanted: int = 0, seconds: float = PATIENCE_S
    ) -> list[Message]:
        """All committed records of a topic, once as many as wanted are there and no more arrive."""
        consumer: Any = new_consumer(self.config.kafka, auto_offset_reset="earliest")
        places = [TopicPartition(topic, p) for p in range(partitions)]
        consumer.assign(places)
        collected: list[Message] = []

        def at_the_end() -> bool:
            ends = {place: consumer.highwater(place) for place in places}  # None: no answer yet
            return all(end is not None and consumer.position(p) >= end for p, end in ends.items())

        quiet_since, until = time.monotonic(), time.monotonic() + seconds
        while time.monotonic() < until:
            for messages in consumer.poll(200).values():
                collected += messages
                quiet_since = time.monotonic()
            quiet = time.monotonic() - quiet_since
            if len(collected) >= wanted and quiet > 1.5 and (at_the_end() or quiet > SLOW_BROKER_S):
                break
        consumer.close(autocommit=False)
        return collected

    def rankings(self, wanted: int, seconds: float = PATIENCE_S) -> list[Message]:
        return self.read(self.stream.rankings, self.stream.partitions, wanted, seconds)

    def wait_logged(self, seconds: float = PATIENCE_S) -> None:
        """Wait until the tokenizers have written all documents to the log."""
        group = tokenizer_consumer_group(self.name)
        self._wait_for([group], self.documents, self.stream.partitions, seconds)

    def wait_learned(self, seconds: float = PATIENCE_S) -> None:
        """Wait until all documents are in the log, and the published lanes are at its end.

        A process that was killed since may have committed those offsets. So the workers that run
        now must also show these lanes in their metrics.
        """
        self.wait_logged(seconds)
        published = [lane.parsed.name for lane in self.stream.lanes if lane.publish]
        groups = [lane_consumer_group(self.name, lane) for lane in published]
        self._wait_for(groups, self.stream.blocks, 1, seconds)
        for name in self.processes:
            if name.startswith("learn"):
                lanes = self._lanes_of(name)
                there = eventually(lambda: lanes <= self.shown_lanes(name), seconds)  # noqa: B023
                assert there, self.log(name)[-3000:]

    def _lanes_of(self, name: str) -> set[str]:
        """The lanes of a learner."""
        lane = name.partition("@")[2].partition("#")[0]
        return {lane} if lane else {lane.parsed.name for lane in self.stream.whole_lanes}

    def _wait_for(self, groups: Sequence[str], topic: str, partitions: int, seconds: float) -> None:
        """Wait until groups have committed the end of a topic."""
        places = [TopicPartition(topic, number) for number in range(partitions)]
        consumer = new_consumer(self.config.kafka)
        ends = {place: end for place, end in consumer.end_offsets(places).items() if end}
        consumer.close(autocommit=False)
        admin = new_admin(self.config.kafka)

        def there() -> bool:
            try:
                offsets = admin.list_group_offsets(groups)
            except KafkaError:
                return False  # a broker is away
            return all(
                place in offsets[group] and offsets[group][place].offset >= end
                for group in groups
                for place, end in ends.items()
            )

        assert eventually(there, seconds), (
            f"{groups} did not reach {ends}: {admin.list_group_offsets(groups)}\n" + self.endings()
        )
        admin.close()

    def snapshot(self) -> Snapshot:
        """The newest snapshot of the stream that has all its whole lanes."""
        folder = SnapshotFolder(self.config.snapshots.folder / self.stream.name)
        lanes = {lane.parsed.name for lane in self.stream.whole_lanes}
        for path, described in folder.descriptions([]):
            if lanes <= {*described.lanes}:
                return read_snapshot(path)
        raise AssertionError(f"{folder.path} has no snapshot of {lanes}")

    def undisturbed(self) -> tuple[Engine, list[bytes]]:
        """An engine that followed the log without any fault, and the rankings that it made."""
        engine = Engine(
            [parse_spec(lane.spec) for lane in self.stream.lanes],
            self.stream.topics,
            self.stream.engine_settings(),
        )
        names = [lane.name for lane in engine.lanes]
        coverage, rankings = Coverage(), list[bytes]()
        for message in self.read(self.stream.blocks, 1):
            name = f"offset {message.offset}"
            block = coverage.admit(decode_record(message.value or b"", name), name)
            if block is not None:
                for ranked in engine.process(block):
                    rankings += ranking_events(ranked, names, engine.topics.names, self.stream.top)
        return engine, rankings


def assert_exact(
    streaming: Streaming, ranking_messages: list[Message], events: Iterable[bytes]
) -> None:
    """Each document is ranked once per lane, and rankings and model equal those of a faultless run.

    The learner must have reached the end of the log, and must have been stopped cleanly.
    """
    parsed = [orjson.loads(event) for event in events]
    ids = Counter(event["id"] for event in parsed if "text" in event)  # the others are late labels
    lanes = [lane.parsed.name for lane in streaming.stream.lanes]
    values = [message.value or b"" for message in ranking_messages]
    ranked = Counter((event["id"], event["lane"]) for event in map(orjson.loads, values))
    assert ranked == {(id_, lane): count for id_, count in ids.items() for lane in lanes}
    engine, expected = streaming.undisturbed()
    assert sorted(values) == sorted(expected)
    snapshot = streaming.snapshot()
    expected_snapshot = take_snapshot(engine, snapshot.position)
    assert expected_snapshot.arrays.keys() == snapshot.arrays.keys()
    for name, array in expected_snapshot.arrays.items():
        assert array.tobytes() == snapshot.arrays[name].tobytes(), name
    content = orjson.loads(orjson.dumps(expected_snapshot.content))
    assert content == {name: snapshot.content[name] for name in content}


def values_by_lane(rankings: Iterable[bytes | None]) -> dict[str, list[bytes]]:
    """Rankings by lane, in their order: on Kafka, each lane has an order of its own."""
    collected: dict[str, list[bytes]] = {}
    for value in rankings:
        collected.setdefault(orjson.loads(value or b"")["lane"], []).append(value or b"")
    return collected


def without_scores(value: bytes) -> bytes:
    """A ranking without scores, whose last bits depend on the number of shards."""
    event = orjson.loads(value)
    return orjson.dumps({**event, "ranking": [place["topic"] for place in event["ranking"]]})


def eventually(condition: Callable[[], bool], seconds: float = 120.0) -> bool:
    """Whether the condition becomes true in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.1)
    return condition()
