"""A lane of many topics, whole and in shards: the time per document, and what shards send.

- Two shards as two processes over a real broker, beside one process, on the same machine. They meet
  in shared memory, or exchange everything as if they were on two machines.
- One of N shards without the load of the others, which have sent their payloads before.
- MMP after many documents: what its shards send depends on how good the rankings are.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from kafka.admin import NewTopic

from consumers.kafka.clients import new_admin
from consumers.settings import KafkaSettings
from consumers.sharding.score_exchange import KafkaExchange
from consumers.sharding.shared_place import SharedPlace
from deploy.kafka import Cluster
from learners.learner import Learner
from learners.scores import Scores
from learners.segment import Rows, Segment, Steps
from learners.sharding.exchange import APART, Exchange, ThreadExchange
from learners.sharding.parts import divided_state
from learners.sharding.shard import Shard
from learners.specs import parse_spec
from tests.support.apart_exchange import ApartExchange

TOPICS, FEATURES, TERMS = 5_000, 50_000, 100
BLOCK = 512
LANES = ("perceptron", "arow", "soft-arow", "mmp:loss=1")
TURNS = 3
TOP = 10  # topics of a ranking
MATURE = 65_536  # documents that MMP has learned before its shards are measured once more
MATURE_BLOCKS = 8


def blocks(documents: int, seed: int = 1) -> Iterator[Segment]:
    """Labelled documents with words of their topics; words and topics are Zipf-distributed.

    With another seed there are other documents about the same topics.
    """
    rng = np.random.default_rng(seed)
    topics = 1 / np.arange(1.0, TOPICS + 1)
    words = 1 / np.arange(1.0, FEATURES + 1)
    topics, words = topics / topics.sum(), np.cumsum(words)
    words /= words[-1]
    own = np.random.default_rng(0).integers(0, FEATURES, (TOPICS, 40))  # words that signal a topic
    for _ in range(0, documents, BLOCK):
        labels = [
            rng.choice(TOPICS, rng.integers(1, 4), replace=False, p=topics) for _ in range(BLOCK)
        ]
        starts, terms, values = [0], list[np.ndarray](), list[np.ndarray]()
        for of_document in labels:
            about = own[of_document].ravel()
            some = rng.choice(about, TERMS // 3)
            actual = np.unique(np.concatenate((np.searchsorted(words, rng.random(TERMS)), some)))
            weights = rng.exponential(1.0, len(actual)) + 0.1
            terms.append(actual)
            values.append(weights / np.sqrt((weights**2).sum()))
            starts.append(starts[-1] + len(actual))
        rows = Rows(
            np.array(starts, np.int64),
            np.concatenate(terms).astype(np.int32),
            np.concatenate(values),
        )
        ends = np.cumsum([len(of_document) for of_document in labels])
        steps = Steps(
            np.repeat(np.arange(BLOCK, dtype=np.int32), 2),
            np.tile(np.array([False, True]), BLOCK),
            np.full(2 * BLOCK, TOPICS, np.int32),
            np.concatenate(([0], np.column_stack((np.r_[0, ends[:-1]], ends)).ravel())),
            np.concatenate(labels).astype(np.int32),
            np.full(2 * BLOCK, TOPICS, np.int32),
        )
        yield Segment(rows, steps, FEATURES, TOPICS)


class Measured(NamedTuple):
    """What following the blocks took, of the second half of them."""

    seconds: float  # of the process
    waiting: float  # for other shards, in this time
    sent: int  # bytes, in this time
    documents: int

    @property
    def microseconds(self) -> float:
        """Per document."""
        return 1e6 * self.seconds / self.documents


def follow(learner: Learner, segments: Sequence[Segment]) -> Measured:
    """Let a learner, or a shard, follow all blocks; measure the second half."""
    half = len(segments) // 2
    started, waiting, sent = 0.0, 0.0, 0
    for number, segment in enumerate(segments):
        if number == half:
            started, waiting, sent = time.perf_counter(), waited(learner), sent_by(learner)
        scores = Scores.expect(learner.new_scores(len(segment.rows), segment.topics))
        learner.follow(segment, scores)
        scores.best(segment.steps.known[~segment.steps.learn], TOP)  # as the lane does after it
        scores.places(segment.steps)
    seconds = time.perf_counter() - started
    documents = BLOCK * (len(segments) - half)
    return Measured(seconds, waited(learner) - waiting, sent_by(learner) - sent, documents)


def waited(learner: Learner) -> float:
    """Seconds that a shard has waited for others."""
    return learner.timings().get("wait", 0.0)


def sent_by(learner: Learner) -> int:
    """Bytes that a shard has sent."""
    return learner.part.sent_bytes if isinstance(learner, Shard) else 0


def whole(spec: str, segments: Sequence[Segment], threads: int) -> Measured:
    """The lane in one process, with so many threads."""
    learner = parse_spec(spec).build()
    learner.threads = threads
    return follow(learner, segments)


class Recorder:
    """Exchanges between threads whose payloads are kept, so that a shard can run again alone."""

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self.parts: dict[int, list[bytes]] = {}
        self._exchange = ThreadExchange(shards)

    def record(self, spec: str, segments: Sequence[Segment]) -> None:
        """Let all shards follow the blocks once."""
        with ThreadPoolExecutor(self.shards) as pool:
            tasks = [
                pool.submit(self._exchange.run, self._follow, spec, segments, number)
                for number in range(self.shards)
            ]
        for task in tasks:
            task.result()

    def _follow(self, spec: str, segments: Sequence[Segment], number: int) -> None:
        member = Recording(self._exchange.member(number), self.parts)
        follow(new_shard(spec, member), segments)


class Recording(ApartExchange):
    """One shard's access to recorded exchanges."""

    def __init__(self, exchange: Exchange, parts: dict[int, list[bytes]]) -> None:
        self.shard, self.shards = exchange.shard, exchange.shards
        self._exchange = exchange
        self._parts = parts

    def swap(
        self, number: int, part: bytes, *, adopt: bool = False, mark: int = APART
    ) -> list[bytes]:
        """See `Exchange.swap`."""
        parts = self._exchange.swap(number, part, adopt=adopt)
        if self.shard == 0:
            self._parts[number] = parts
        return parts


class Replayed(ApartExchange):
    """The exchange of a shard that runs alone: the others have sent everything already."""

    def __init__(self, shard: int, shards: int, parts: dict[int, list[bytes]]) -> None:
        self.shard, self.shards = shard, shards
        self._parts = parts

    def swap(
        self, number: int, part: bytes, *, adopt: bool = False, mark: int = APART
    ) -> list[bytes]:
        """See `Exchange.swap`."""
        parts = self._parts[number]
        if parts[self.shard] != part:
            raise ValueError(f"exchange {number} differs from the recorded one")
        return parts


def new_shard(spec: str, exchange: Exchange) -> Shard:
    """One shard with one thread, whose rankings have the usual number of topics."""
    shard = parse_spec(spec).new_shard(exchange, TOP)
    shard.threads = 1
    return shard


def alone(spec: str, segments: Sequence[Segment], shards: int) -> Measured:
    """The first shard of several, without the load of the others."""
    recorder = Recorder(shards)
    recorder.record(spec, segments)
    return follow(new_shard(spec, Replayed(0, shards, recorder.parts)), segments)


def shard_process(
    bootstrap: str, topic: str, spec: str, documents: int, shard: int, shards: int,
    state: Path | None, together: bool,
) -> Measured:  # fmt: skip
    """One shard of several as a process, over a broker; it may begin with a stored state."""
    segments = list(blocks(documents)) if state is None else mature_blocks()
    place = SharedPlace(topic, shard, shards) if together else None
    exchange = KafkaExchange(
        KafkaSettings(bootstrap=bootstrap), topic, "bench", spec, "bench", shard, shards, None,
        threading.Event(), place=place,
    )  # fmt: skip
    try:
        learner = new_shard(spec, exchange)
        if state is not None:
            with np.load(state / f"{shard}-of-{shards}.npz") as arrays:
                learner.part.restore(dict(arrays))
        return follow(learner, segments)
    finally:
        exchange.close()
        if place is not None:
            place.close()


def mature_blocks() -> list[Segment]:
    """Blocks that a mature learner has not learned."""
    return list(blocks(MATURE_BLOCKS * BLOCK, seed=2))


def run_mature(bootstrap: str, spec: str, folder: Path) -> None:
    """Print what two shards take and send after many documents."""
    learner = parse_spec(spec).whole_learner()
    for segment in blocks(MATURE):
        follow(learner, [segment])
    state = learner.state()
    for shard in range(2):
        of_shard = divided_state(learner, state, shard, 2)
        np.savez(folder / f"{shard}-of-2.npz", **of_shard)  # type: ignore[arg-type]
    del state
    learner.threads = 1
    one = follow(learner, mature_blocks())
    del learner
    line = f"  {spec} after {MATURE:,} documents: one thread {one.microseconds:,.0f}"
    for together in (True, False):
        two = over_broker(bootstrap, spec, MATURE, 2, folder, together=together)
        line += f"    {compared(one, two)}"
    print(line, flush=True)


def compared(one: Measured, shards: Sequence[Measured]) -> str:
    """The time of the slowest of several shards, compared with one process, and what all send."""
    slowest = max(shard.microseconds for shard in shards)
    waiting = min(100 * shard.waiting / shard.seconds for shard in shards)
    sent = sum(shard.sent for shard in shards) / shards[0].documents
    return (
        f"{slowest:,.0f} (waiting {waiting:.0f} %), ratio {one.microseconds / slowest:.2f}, "
        f"{sent:,.0f} B, {8 * TOPICS / sent:.1f} times fewer"
    )


def over_broker(
    bootstrap: str, spec: str, documents: int, shards: int, state: Path | None = None, *,
    together: bool = True,
) -> list[Measured]:  # fmt: skip
    """All shards as processes, over a real broker."""
    topic = f"scores-{time.time_ns()}"
    admin = new_admin(KafkaSettings(bootstrap=bootstrap))
    admin.create_topics([NewTopic(topic, 1, 1)])
    admin.close()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(shards, context) as pool:
        tasks = [
            pool.submit(
                shard_process, bootstrap, topic, spec, documents, number, shards, state, together
            )
            for number in range(shards)
        ]
        return [task.result() for task in tasks]


def run(documents: int, folder: Path) -> None:
    """Print the tables."""
    segments = list(blocks(documents))
    terms = len(segments[-1].rows.terms) / BLOCK
    print(
        f"Lanes of {TOPICS:,} topics, {FEATURES:,} features, documents of {terms:.0f} terms in "
        f"blocks of {BLOCK}; the second half of {len(segments) * BLOCK:,} documents"
    )
    print(
        "  us/document              one thread   all cores   2 shards   ratio   bytes   "
        "without shared memory   ratio   bytes"
    )
    with Cluster(folder / "kafka") as cluster:
        for spec in LANES:
            whole(spec, segments[:2], 1)  # compiled
            for _ in range(TURNS):
                one = whole(spec, segments, 1)
                cores = whole(spec, segments, 0)
                line = f"  {spec:22} {one.microseconds:11,.0f} {cores.microseconds:11,.0f}"
                for together in (True, False):
                    two = over_broker(cluster.bootstrap, spec, documents, 2, together=together)
                    line += f"    {compared(one, two)}"
                print(line, flush=True)
        for spec in LANES:
            if spec.startswith("mmp"):
                run_mature(cluster.bootstrap, spec, folder)
    print("  one shard without the load of the others: us/document, and bytes that all send")
    for spec in LANES:
        one = whole(spec, segments, 1)
        line = f"  {spec:22} 1: {one.microseconds:6,.0f}"
        for shards in (2, 4, 8):
            of_shard = alone(spec, segments, shards)
            share = of_shard.microseconds * shards / one.microseconds
            sent = shards * of_shard.sent / of_shard.documents
            line += (
                f"   {shards}: {of_shard.microseconds:6,.0f} ({share:.2f} / {shards}, "
                f"{sent:,.0f} B, {8 * TOPICS / sent:.0f} times fewer)"
            )
        print(line, flush=True)
