"""The metrics of a process that learns or tokenizes, for Prometheus.

After each block the working thread leaves an immutable sample, in which rounds and losses belong
together. A scrape shows the last sample. Nothing is done per document.

Learning counters are read from the engine, which restores them from a snapshot and the log. They
never decrease, for two reasons: only committed work is shown, and a worker that has not yet caught
up with the worker before it is not shown. Until then a scrape shows the last sample of this
process, or none.
"""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Literal, NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import Metric

from pipeline.engine.engine import Engine
from pipeline.engine.memory import memory_ceiling, memory_use
from pipeline.events.event import REASONS
from pipeline.metrics import families
from pipeline.metrics.decisions import LaneDecisions, collect_decisions, sample_decisions
from pipeline.metrics.families import NO_DURATIONS, Durations, Scrape
from pipeline.metrics.health import Health
from pipeline.metrics.topic_losses import TopicsSample, collect_topics, sample_topics

Clock = Callable[[], float]


class LearnedBlock(NamedTuple):
    """A block that was ranked and learned."""

    documents: int
    seconds: float  # to rank and learn it
    arrived: float | None  # when its oldest event came (Unix time); None: not known


class Position(NamedTuple):
    """How far a partition has been read."""

    next: int  # the offset to read next
    end: int  # the offset after the last record there is
    time: float | None  # of the last record read (Unix time); None: none was read


@dataclass(frozen=True, slots=True)
class LaneSample:
    """A lane at the end of a block."""

    name: str
    rounds: int
    rounds_with_topics: int
    sums: Mapping[str, float]  # of the measures that are means of rounds
    averages: Mapping[str, float | None]
    changes: tuple[int, int | None]  # how many, and the round of the last one
    seconds: float
    model_bytes: int
    sizes: Mapping[str, float]
    timings: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class EngineSample:
    """An engine at the end of a block."""

    lanes: tuple[LaneSample, ...]
    counts: tuple[tuple[families.Family, float], ...]
    memory: tuple[int, int]  # in use, and its ceiling
    given_up: tuple[tuple[str, int], ...]
    unmatched: tuple[tuple[str, int], ...]
    topics: TopicsSample | None
    decisions: tuple[LaneDecisions, ...]


def sample_engine(engine: Engine, topics: int) -> EngineSample:
    """Copy what a scrape shows, with up to `topics` topics. Call it between two blocks only."""
    waiting, settings = [group.pending for group in engine.lane_groups], engine.settings
    return EngineSample(
        tuple(
            LaneSample(
                lane.name,
                lane.curve.rounds,
                lane.curve.rounds_with_topics,
                lane.curve.sums(lane.curve.tally()),
                lane.curve.last().values,
                (lane.curve.changes.total, lane.curve.changes.last_round),
                lane.seconds,
                lane.size_bytes(),
                lane.learner.sizes(),
                lane.learner.timings(),
            )
            for lane in engine.lanes
        ),
        (
            (families.DOCUMENTS, engine.documents),
            (families.VOCABULARY, len(engine.vocabulary)),
            (families.VOCABULARY_CEILING, settings.features.max_terms),
            (families.TERMS_REFUSED, engine.vocabulary.refused),
            (families.TOPICS, len(engine.topics)),
            (families.TOPICS_CEILING, settings.max_topics),
            (families.TOPICS_REFUSED, engine.topics.refused),
            (families.PENDING_DOCUMENTS, sum(len(p.documents) for p in waiting)),
            (families.PENDING_LABELS, sum(len(p.early) for p in waiting)),
            (families.PENDING_CEILING, settings.max_pending * max(1, len(waiting))),
            (families.PENDING_BYTES, sum(p.document_bytes + p.early_bytes for p in waiting)),
            (families.PENDING_BYTES_CEILING, 2 * settings.max_pending_bytes * len(waiting)),
        ),
        (memory_use(engine), memory_ceiling(engine)),
        (
            ("expired", sum(p.expired_documents for p in waiting)),
            ("superseded", sum(p.superseded for p in waiting)),
        ),
        (
            ("no_document", sum(p.unmatched_labels for p in waiting)),
            ("rank_only" if engine.topic_group.lanes else "topics_only", engine.ignored_labels),
        ),
        sample_topics(engine, topics),
        sample_decisions(engine),
    )


SnapshotProblem = Literal["not_written", "damaged"]


@dataclass(frozen=True, slots=True)
class SnapshotSample:
    """The newest snapshot."""

    written: float  # Unix time
    size_bytes: int
    seconds: float | None  # None if another process wrote it
    by_this_process: int


@dataclass(frozen=True, slots=True)
class LearnerSample:
    """What a scrape shows of a learner."""

    engines: tuple[EngineSample, ...] = ()
    block_seconds: Durations = NO_DURATIONS
    event_to_ranking: Durations = NO_DURATIONS


class LearnerMetrics:
    """The metrics of one stream in a learner, for the life of the process, across engines.

    `begin`, `learned` and `committed` are called by the thread that learns, `snapshot` by any
    thread. `topics` is the number of topics with metrics of their own.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        stream: str,
        shard: str = "0",
        clock: Clock = time.time,
        topics: int = 0,
        speaks: bool = True,
    ) -> None:
        self._common = (stream, shard)
        self._topics = topics
        self._speaks = speaks  # False: another shard of the lane shows the same numbers
        self._clock = clock
        self._sample = LearnerSample()
        self._snapshot: SnapshotSample | None = None
        self._snapshot_problems: dict[SnapshotProblem, int] = {"not_written": 0, "damaged": 0}
        self._uploads = self._upload_failures = 0
        self._uploaded: float | None = None  # Unix time
        self._began: Mapping[str, int] = {}  # by lane
        self.begin()
        registry.register(self)

    def began(self, lanes: Mapping[str, int]) -> None:
        """Show the offset of the log at which each lane began."""
        self._began = dict(lanes)

    def begin(self) -> None:
        """Start with a worker, perhaps after a failed one: drop what was not committed."""
        self._engines: tuple[EngineSample, ...] | None = None
        self._blocks: list[LearnedBlock] = []

    def learned(self, engines: Sequence[Engine], blocks: Sequence[LearnedBlock] = ()) -> None:
        """Sample the engines after these blocks; the sample is shown once it is committed.

        Several engines hold lanes at several offsets of the log, the most advanced last. Leave out
        an engine that has not caught up after a crash, because its counters would decrease.
        """
        self._engines = tuple(sample_engine(engine, self._topics) for engine in engines)
        self._blocks.extend(blocks)

    def committed(self) -> None:
        """Show the newest sample: its blocks are committed and their rankings published."""
        if self._engines is None:
            return
        sample, now = self._sample, self._clock()
        block_seconds, event_to_ranking = sample.block_seconds, sample.event_to_ranking
        for block in self._blocks:
            block_seconds = block_seconds.plus(block.seconds)
            if block.arrived is not None and block.documents:
                age = max(0.0, now - block.arrived)
                event_to_ranking = event_to_ranking.plus(age, block.documents)
        self._sample = LearnerSample(self._engines, block_seconds, event_to_ranking)
        self._engines, self._blocks = None, []

    def snapshot(self, written: float, size_bytes: int, seconds: float | None = None) -> None:
        """Show a new snapshot or, without `seconds`, the snapshot that this process restored."""
        before = self._snapshot.by_this_process if self._snapshot else 0
        written_here = before + (seconds is not None)
        self._snapshot = SnapshotSample(written, size_bytes, seconds, written_here)

    def snapshot_problem(self, problem: SnapshotProblem, times: int = 1) -> None:
        """Count snapshots that could not be written, or that were skipped because of damage."""
        self._snapshot_problems[problem] += times

    def copied(self, now: float) -> None:
        """Count a snapshot that was copied to an object store."""
        self._uploads += 1
        self._uploaded = now

    def copy_failed(self) -> None:
        """Count an attempt to copy a snapshot that failed."""
        self._upload_failures += 1

    def describe(self) -> Iterable[Metric]:
        """Declare the metrics to the registry."""
        return families.described(families.LEARNER)

    def collect(self) -> Iterable[Metric]:
        """Return the last committed sample for a scrape."""
        sample, snapshot = self._sample, self._snapshot
        scrape = Scrape(families.LEARNER, *self._common)
        for engine in sample.engines:
            collect_models(scrape, engine)
            if self._speaks:
                collect_lanes(scrape, engine)
                collect_decisions(scrape, engine.decisions)
            if self._speaks and engine.topics is not None:
                collect_topics(scrape, engine.topics)
        if sample.engines:
            memory = [engine.memory for engine in sample.engines]
            scrape.add(families.MEMORY_BYTES, sum(use for use, _ in memory))
            scrape.add(families.MEMORY_CEILING, sum(ceiling for _, ceiling in memory))
        if sample.engines and self._speaks:
            collect_counts(scrape, sample.engines[-1])
        if self._speaks:
            for lane, offset in self._began.items():
                scrape.add(families.LANE_FIRST_OFFSET, offset, lane)
        scrape.add_durations(families.BLOCK_SECONDS, sample.block_seconds)
        scrape.add_durations(families.EVENT_TO_RANKING, sample.event_to_ranking)
        scrape.add(families.SNAPSHOTS, snapshot.by_this_process if snapshot else 0)
        for problem, times in self._snapshot_problems.items():
            scrape.add(families.SNAPSHOT_PROBLEMS, times, problem)
        scrape.add(families.SNAPSHOT_UPLOADS, self._uploads)
        scrape.add(families.SNAPSHOT_UPLOAD_FAILURES, self._upload_failures)
        if self._uploaded is not None:
            scrape.add(families.SNAPSHOT_UPLOAD_AGE, max(0.0, self._clock() - self._uploaded))
        if snapshot is not None:
            scrape.add(families.SNAPSHOT_AGE, max(0.0, self._clock() - snapshot.written))
            scrape.add(families.SNAPSHOT_BYTES, snapshot.size_bytes)
            if snapshot.seconds is not None:
                scrape.add(families.SNAPSHOT_SECONDS, snapshot.seconds)
        return scrape.metrics()


def collect_models(scrape: Scrape, engine: EngineSample) -> None:
    """Add memory and times of each lane's model, or of this shard's part of it."""
    for lane in engine.lanes:
        scrape.add(families.LANE_SECONDS, lane.seconds, lane.name)
        scrape.add(families.MODEL_BYTES, lane.model_bytes, lane.name)
        for size, value in lane.sizes.items():
            scrape.add(families.MODEL_SIZES[size], value, lane.name)
        for part, seconds in lane.timings.items():
            scrape.add(families.SHARD_SECONDS[part], seconds, lane.name)


def collect_lanes(scrape: Scrape, engine: EngineSample) -> None:
    """Add rounds and measures of each lane. A measure that does not exist yet has no sample."""
    for lane in engine.lanes:
        scrape.add(families.ROUNDS, lane.rounds, lane.name)
        scrape.add(families.ROUNDS_WITH_TOPICS, lane.rounds_with_topics, lane.name)
        changes, last_round = lane.changes
        scrape.add(families.LANE_CHANGES, changes, lane.name)
        if last_round is not None:
            scrape.add(families.LANE_CHANGE_ROUND, last_round, lane.name)
        for measure, average in lane.averages.items():
            if measure in lane.sums:
                scrape.add(families.LOSS_SUM, lane.sums[measure], lane.name, measure)
            if average is not None:
                scrape.add(families.ROUND_AVERAGED_LOSS, average, lane.name, measure)


def collect_counts(scrape: Scrape, engine: EngineSample) -> None:
    """Add the counts that all lanes share."""
    for family, value in engine.counts:
        scrape.add(family, value)
    for reason, count in engine.given_up:
        scrape.add(families.DOCUMENTS_GIVEN_UP, count, reason)
    for reason, count in engine.unmatched:
        scrape.add(families.UNMATCHED_LABELS, count, reason)


@dataclass(frozen=True, slots=True)
class TokenizerSample:
    """What a scrape shows of a tokenizer."""

    events: int
    blocks: int
    dead_letters: Mapping[str, int]


class TokenizerMetrics:
    """The metrics of one stream in a tokenizer. The counters start with the process."""

    def __init__(self, registry: CollectorRegistry, stream: str) -> None:
        self._stream = stream
        self._sample = TokenizerSample(0, 0, dict.fromkeys(REASONS, 0))
        registry.register(self)

    def written(self, events: int, dead_letters: Iterable[str] = ()) -> None:
        """Count a block: the events read for it, and the reasons of the dead letters among them."""
        sample = self._sample
        counts = dict(sample.dead_letters)
        for reason, count in Counter(dead_letters).items():
            counts[reason] = counts.get(reason, 0) + count
        self._sample = TokenizerSample(sample.events + events, sample.blocks + 1, counts)

    def describe(self) -> Iterable[Metric]:
        """Declare the metrics to the registry."""
        return families.described(families.TOKENIZER)

    def collect(self) -> Iterable[Metric]:
        """Return the counts so far for a scrape."""
        sample = self._sample
        scrape = Scrape(families.TOKENIZER, self._stream)
        scrape.add(families.EVENTS_READ, sample.events)
        scrape.add(families.BLOCKS_WRITTEN, sample.blocks)
        for reason, count in sample.dead_letters.items():
            scrape.add(families.DEAD_LETTERS, count, reason)
        return scrape.metrics()


class LagMetrics:
    """The lag of a worker in each partition that is assigned to it."""

    def __init__(self, registry: CollectorRegistry, stream: str, clock: Clock = time.time) -> None:
        self._stream = stream
        self._clock = clock
        self._positions: Mapping[str, Position] = {}
        registry.register(self)

    def polled(self, positions: Mapping[str, Position]) -> None:
        """Take the positions of all assigned partitions (`topic-number`)."""
        self._positions = dict(positions)

    def describe(self) -> Iterable[Metric]:
        """Declare the metrics to the registry."""
        return families.described(families.LAG)

    def collect(self) -> Iterable[Metric]:
        """Return the lag now; its age grows even while the worker hangs."""
        scrape, now = Scrape(families.LAG, self._stream), self._clock()
        for partition, position in self._positions.items():
            behind = max(0, position.end - position.next)
            scrape.add(families.LAG_RECORDS, behind, partition)
            if not behind:
                scrape.add(families.LAG_SECONDS, 0.0, partition)
            elif position.time is not None:
                scrape.add(families.LAG_SECONDS, max(0.0, now - position.time), partition)
        return scrape.metrics()


class ProcessMetrics:
    """Build, health, and (from prometheus_client) memory, CPU and start time of the process."""

    def __init__(self, registry: CollectorRegistry, health: Health) -> None:
        self._health = health
        self._build = (version("wirerank"), platform.python_version())
        registry.register(self)
        ProcessCollector(registry=registry)

    def describe(self) -> Iterable[Metric]:
        """Declare the metrics to the registry."""
        return families.described(families.PROCESS)

    def collect(self) -> Iterable[Metric]:
        """Return the state of the process for a scrape."""
        scrape = Scrape(families.PROCESS)
        scrape.add(families.BUILD, 1, *self._build)
        scrape.add(families.READY, self._health.ready)
        scrape.add(families.LOOP_AGE, self._health.loop_age_s)
        scrape.add(families.CLOCK_AHEAD, self._health.clock_ahead_s)
        return scrape.metrics()
