"""Metrics: what Prometheus is told of a process that learns or tokenises.

The thread that works leaves a sample after each block, an immutable picture in which rounds and
losses belong together; a scrape shows the last one. Nothing is done per document.

Learning counters are read off the engine, which gets them back from a snapshot and the log. They
never go backwards as long as only what is committed is shown, and nothing of a worker that is not
yet where the one before it was: until then a scrape shows this process's last sample, or none.
"""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import Metric

from pipeline.engine.engine import Engine
from pipeline.events.event import REASONS
from pipeline.metrics import families
from pipeline.metrics.families import NO_DURATIONS, Durations, Scrape
from pipeline.metrics.health import Health
from pipeline.metrics.topic_losses import TopicsSample, collect_topics, sample_topics

Clock = Callable[[], float]


class LearnedBlock(NamedTuple):
    """A block that was ranked and learned."""

    documents: int
    seconds: float  # that it took
    arrived: float | None  # when its oldest event came (Unix time), if that is known


class Position(NamedTuple):
    """How far a partition was read."""

    next: int  # the offset to read next
    end: int  # the offset after the last record there is
    time: float | None  # of the last record read (Unix time), if one was


@dataclass(frozen=True, slots=True)
class LaneSample:
    """A lane at the end of a block."""

    name: str
    rounds: int
    rounds_with_topics: int
    sums: Mapping[str, float]  # of its measures, as far as they are means of rounds
    averages: Mapping[str, float | None]
    model_bytes: int
    sizes: Mapping[str, float]
    timings: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class EngineSample:
    """An engine at the end of a block."""

    lanes: tuple[LaneSample, ...]
    counts: tuple[tuple[families.Family, float], ...]
    given_up: tuple[tuple[str, int], ...]
    unmatched: tuple[tuple[str, int], ...]
    topics: TopicsSample | None


def sample_engine(engine: Engine, topics: int) -> EngineSample:
    """Copy what a scrape shows, of so many topics too; the engine must be between two blocks."""
    waiting, settings = [group.pending for group in engine.lane_groups], engine.settings
    return EngineSample(
        tuple(
            LaneSample(
                lane.name,
                lane.curve.rounds,
                lane.curve.rounds_with_topics,
                lane.curve.sums(lane.curve.tally()),
                lane.curve.last().values,
                lane.learner.size_bytes(),
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
        ),
        (
            ("expired", sum(p.expired_documents for p in waiting)),
            ("superseded", sum(p.superseded for p in waiting)),
        ),
        (
            ("no_document", sum(p.unmatched_labels for p in waiting)),
            ("rank_only" if engine.topic_group.lanes else "topics_only", engine.ignored_labels),
        ),
        sample_topics(engine, topics),
    )


@dataclass(frozen=True, slots=True)
class SnapshotSample:
    """The newest snapshot."""

    written: float  # Unix time
    size_bytes: int
    seconds: float | None  # None if another process wrote it
    by_this_process: int


@dataclass(frozen=True, slots=True)
class LearnerSample:
    """What a scrape shows of learning."""

    engines: tuple[EngineSample, ...] = ()
    block_seconds: Durations = NO_DURATIONS
    event_to_ranking: Durations = NO_DURATIONS


class LearnerMetrics:
    """One stream as a learner follows it. Lives as long as its process, whatever engines come.

    `begin`, `learned` and `committed` are for the thread that learns, `snapshot` for any one.
    `topics` is how many topics have a loss of their own.
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
        self._speaks = speaks  # of shards that have all found the same, one does
        self._clock = clock
        self._sample = LearnerSample()
        self._snapshot: SnapshotSample | None = None
        self.begin()
        registry.register(self)

    def begin(self) -> None:
        """A worker begins, perhaps after one that failed: what was not committed is forgotten."""
        self._engines: tuple[EngineSample, ...] | None = None
        self._blocks: list[LearnedBlock] = []

    def learned(self, engines: Sequence[Engine], blocks: Sequence[LearnedBlock] = ()) -> None:
        """Remember the engines as they are after these blocks, to be shown once that is committed.

        Several engines are lanes at several places of the log, the foremost last. One that is not
        yet where it had been before a crash is left out: its counters would go backwards.
        """
        self._engines = tuple(sample_engine(engine, self._topics) for engine in engines)
        self._blocks.extend(blocks)

    def committed(self) -> None:
        """Show what was learned: it is committed, and its rankings are out."""
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
        """Show a new snapshot, or (without `seconds`) the one that this process went on from."""
        before = self._snapshot.by_this_process if self._snapshot else 0
        mine = before + (seconds is not None)
        self._snapshot = SnapshotSample(written, size_bytes, seconds, mine)

    def describe(self) -> Iterable[Metric]:
        """The metrics there are, for the registry."""
        return families.described(families.LEARNER)

    def collect(self) -> Iterable[Metric]:
        """The last committed sample, as a scrape shows it."""
        sample, snapshot = self._sample, self._snapshot
        found = Scrape(families.LEARNER, *self._common)
        for engine in sample.engines:
            collect_models(found, engine)
            if self._speaks:
                collect_lanes(found, engine)
            if self._speaks and engine.topics is not None:
                collect_topics(found, engine.topics)
        if sample.engines and self._speaks:
            collect_counts(found, sample.engines[-1])
        found.add_durations(families.BLOCK_SECONDS, sample.block_seconds)
        found.add_durations(families.EVENT_TO_RANKING, sample.event_to_ranking)
        found.add(families.SNAPSHOTS, snapshot.by_this_process if snapshot else 0)
        if snapshot is not None:
            found.add(families.SNAPSHOT_AGE, max(0.0, self._clock() - snapshot.written))
            found.add(families.SNAPSHOT_BYTES, snapshot.size_bytes)
            if snapshot.seconds is not None:
                found.add(families.SNAPSHOT_SECONDS, snapshot.seconds)
        return found.metrics()


def collect_models(found: Scrape, engine: EngineSample) -> None:
    """Add what each lane's model, or this shard's share of it, costs."""
    for lane in engine.lanes:
        found.add(families.MODEL_BYTES, lane.model_bytes, lane.name)
        for size, value in lane.sizes.items():
            found.add(families.MODEL_SIZES[size], value, lane.name)
        for part, seconds in lane.timings.items():
            found.add(families.SHARD_SECONDS[part], seconds, lane.name)


def collect_lanes(found: Scrape, engine: EngineSample) -> None:
    """Add what each lane has learned; what does not exist yet has no sample, never 0."""
    for lane in engine.lanes:
        found.add(families.ROUNDS, lane.rounds, lane.name)
        found.add(families.ROUNDS_WITH_TOPICS, lane.rounds_with_topics, lane.name)
        for measure, average in lane.averages.items():
            if measure in lane.sums:
                found.add(families.LOSS_SUM, lane.sums[measure], lane.name, measure)
            if average is not None:
                found.add(families.ROUND_AVERAGED_LOSS, average, lane.name, measure)


def collect_counts(found: Scrape, engine: EngineSample) -> None:
    """Add what all lanes share."""
    for family, value in engine.counts:
        found.add(family, value)
    for reason, count in engine.given_up:
        found.add(families.DOCUMENTS_GIVEN_UP, count, reason)
    for reason, count in engine.unmatched:
        found.add(families.UNMATCHED_LABELS, count, reason)


@dataclass(frozen=True, slots=True)
class TokenizerSample:
    """Everything that a scrape shows of a tokenizer."""

    events: int
    blocks: int
    dead_letters: Mapping[str, int]


class TokenizerMetrics:
    """The events of one stream as a tokenizer reads them. Its counters begin with the process."""

    def __init__(self, registry: CollectorRegistry, stream: str) -> None:
        self._stream = stream
        self._sample = TokenizerSample(0, 0, dict.fromkeys(REASONS, 0))
        registry.register(self)

    def written(self, events: int, dead_letters: Iterable[str] = ()) -> None:
        """Count a block of so many events read, and the reasons of those that were put aside."""
        sample = self._sample
        counts = dict(sample.dead_letters)
        for reason, count in Counter(dead_letters).items():
            counts[reason] = counts.get(reason, 0) + count
        self._sample = TokenizerSample(sample.events + events, sample.blocks + 1, counts)

    def describe(self) -> Iterable[Metric]:
        """The metrics there are, for the registry."""
        return families.described(families.TOKENIZER)

    def collect(self) -> Iterable[Metric]:
        """What was counted so far, as a scrape shows it."""
        sample = self._sample
        found = Scrape(families.TOKENIZER, self._stream)
        found.add(families.EVENTS_READ, sample.events)
        found.add(families.BLOCKS_WRITTEN, sample.blocks)
        for reason, count in sample.dead_letters.items():
            found.add(families.DEAD_LETTERS, count, reason)
        return found.metrics()


class LagMetrics:
    """How far behind a worker of a stream is, in each partition that it has."""

    def __init__(self, registry: CollectorRegistry, stream: str, clock: Clock = time.time) -> None:
        self._stream = stream
        self._clock = clock
        self._positions: Mapping[str, Position] = {}
        registry.register(self)

    def polled(self, positions: Mapping[str, Position]) -> None:
        """Where each partition (`topic-number`) stands; those not named are no longer its own."""
        self._positions = dict(positions)

    def describe(self) -> Iterable[Metric]:
        """The metrics there are, for the registry."""
        return families.described(families.LAG)

    def collect(self) -> Iterable[Metric]:
        """The lag now: it grows while a worker that is behind hangs."""
        found, now = Scrape(families.LAG, self._stream), self._clock()
        for partition, position in self._positions.items():
            behind = max(0, position.end - position.next)
            found.add(families.LAG_RECORDS, behind, partition)
            if not behind:
                found.add(families.LAG_SECONDS, 0.0, partition)
            elif position.time is not None:
                found.add(families.LAG_SECONDS, max(0.0, now - position.time), partition)
        return found.metrics()


class ProcessMetrics:
    """The process itself: build, health, and (by prometheus_client) memory, CPU and start time."""

    def __init__(self, registry: CollectorRegistry, health: Health) -> None:
        self._health = health
        self._build = (version("wirerank"), platform.python_version())
        registry.register(self)
        ProcessCollector(registry=registry)

    def describe(self) -> Iterable[Metric]:
        """The metrics there are, for the registry."""
        return families.described(families.PROCESS)

    def collect(self) -> Iterable[Metric]:
        """How the process is now."""
        found = Scrape(families.PROCESS)
        found.add(families.BUILD, 1, *self._build)
        found.add(families.READY, self._health.ready)
        found.add(families.LOOP_AGE, self._health.loop_age_s)
        return found.metrics()
