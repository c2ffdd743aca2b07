"""The runs behind the tables: every program at every size, by turns."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from kafka.admin import NewTopic

from consumers.kafka.clients import new_admin, new_producer
from consumers.settings import KafkaSettings
from deploy.kafka import Cluster, Options
from tests.bench.peers.corpus import Corpus, write_corpus
from tests.bench.peers.programs_list import BARE_LOOP, FROM_FILES, KAFKA, ON_KAFKA, SIZES
from tests.bench.peers.runner import RESULTS, Program, Result, Store, run_program
from tests.bench.stream import PARTITIONS

TINY = Corpus(100, 200)

Run = Callable[[Program, Corpus], Result]


class Effort(NamedTuple):
    """How much time to spend."""

    turns: int = 3  # runs of each program
    limit: float = 30.0  # seconds of processor time for one run


class Summary(NamedTuple):
    """The runs of one program at one size."""

    runs: list[Result]  # by turns with those of the other programs
    quality: list[float] | None  # average precision per document

    @property
    def failure(self) -> str:
        return self.runs[-1].failure if self.runs else "not run"

    @property
    def documents(self) -> int:
        return self.runs[0].documents

    def median(self, of: Callable[[Result], float]) -> float:
        """The median over the runs."""
        return median(map(of, self.runs))


def mean(values: Sequence[float]) -> float:
    """The mean of what exists; NaN if nothing does."""
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def key_of(program: Program, corpus: Corpus) -> str:
    """The name of the results of a program on a corpus."""
    return f"{corpus.key}--{program.key}"


def repeat(store: Store, programs: Sequence[Program], corpus: Corpus, run: Run, turns: int) -> None:
    """Run programs by turns. One that reached the time limit is not run again."""
    for turn in range(turns):
        for program in programs:
            key = key_of(program, corpus)
            first = store.get(f"{key}--0")
            is_stopped = turn > 0 and first is not None and first.documents < corpus.documents
            if is_stopped or store.get(f"{key}--{turn}"):
                continue
            if program.module == "wirerank" and turn == 0:  # compile: that takes memory
                run_program(program, TINY, 0.0)
            result = run(program, corpus)
            store.put(f"{key}--{turn}", result)
            print(
                f"  {program.name:<40}{corpus.topics:>7,} topics {result.documents:>7,} documents "
                f"{result.microseconds:>11,.0f} us {result.processor_microseconds:>11,.0f} us cpu "
                f"{result.mib:>7,.0f} MiB {result.failure}",
                flush=True,
            )


def measure_quality(
    store: Store, programs: Sequence[Program], corpus: Corpus, effort: Effort
) -> None:
    """Run the programs again whose rankings cannot be measured while they are timed."""
    for program in programs:
        key = key_of(program, corpus)
        timed = store.get(f"{key}--0")
        done = timed.documents if timed else 0
        if program.measured_apart and done and not store.get(f"{key}--quality"):
            store.put(
                f"{key}--quality", run_program(program, corpus, effort.limit, done, quality="1")
            )


def run_from_files(store: Store, effort: Effort) -> None:
    """Compare the programs that read a file."""
    for corpus in SIZES:
        run = partial(run_program, limit=effort.limit)
        repeat(store, FROM_FILES, corpus, run, effort.turns)
        measure_quality(store, FROM_FILES, corpus, effort)


@contextmanager
def broker() -> Iterator[str]:
    """A broker of our own, in the settings of real life."""
    with (
        tempfile.TemporaryDirectory() as name,
        Cluster(Path(name) / "kafka", options=Options(heap_mb=1024, quick=False)) as cluster,
    ):
        yield cluster.bootstrap


class KafkaRuns:
    """Runs programs against a broker that has the documents of a corpus."""

    def __init__(self, bootstrap: str, limit: float) -> None:
        self._limit = limit
        self._settings = KafkaSettings(bootstrap=bootstrap)
        self._sources: dict[str, str] = {}

    def _create(self, topic: str) -> str:
        admin = new_admin(self._settings)
        admin.create_topics([NewTopic(topic, PARTITIONS, 1)])
        admin.wait_for_topics([topic])
        admin.close()
        return topic

    def _source(self, corpus: Corpus) -> str:
        """The topic of the documents, which is filled once."""
        if corpus.key not in self._sources:
            topic = self._create(f"documents-{corpus.key}")
            producer = new_producer(self._settings, delivery_timeout_ms=60_000)
            events = write_corpus(corpus, RESULTS / "corpora") / "events.jsonl"
            for number, event in enumerate(events.read_bytes().splitlines()):
                producer.send(topic, event, partition=number % PARTITIONS)
            producer.flush(60)
            producer.close(timeout=5)
            self._sources[corpus.key] = topic
        return self._sources[corpus.key]

    def run(self, program: Program, corpus: Corpus) -> Result:
        """Run a loop, or Wirerank, which writes its own copy of the documents."""
        options = {"bootstrap": self._settings.bootstrap}
        if program is not ON_KAFKA:
            options["source"] = self._source(corpus)
            options["target"] = self._create(f"rankings-{time.monotonic_ns()}")
        return run_program(program, corpus, self._limit, corpus.documents, **options)

    def warm_up(self, corpus: Corpus) -> None:
        """A broker that has just started is slow for its first client."""
        self.run(BARE_LOOP, corpus)


def run_on_kafka(store: Store, effort: Effort) -> None:
    """Compare Wirerank on Kafka with loops around clients."""
    keys = [key_of(program, corpus) for program in KAFKA for corpus in SIZES]
    if all(store.get(f"{key}--0") for key in keys):
        return
    with broker() as bootstrap:
        runs = KafkaRuns(bootstrap, effort.limit)
        runs.warm_up(SIZES[0])
        for corpus in SIZES:
            repeat(store, KAFKA, corpus, runs.run, effort.turns)


def summary(store: Store, program: Program, corpus: Corpus) -> Summary:
    """What is known about a program at a size."""
    key = key_of(program, corpus)
    runs = store.runs(key)
    apart = store.get(f"{key}--quality")
    known = [run.average_precision for run in runs if run.average_precision]
    quality = apart.average_precision if apart else next(iter(known), None)
    return Summary(runs, quality)
