"""Measures on this machine what text, vocabulary and lanes cost, in processor time.

Processor time, not time by the clock: other processes on the machine then disturb little. The
documents are the synthetic newswire, with different numbers of topics and words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import lz4.frame
import numpy as np
import orjson

from learners.decisions.decided import Decisions
from learners.decisions.decider import Decider
from learners.decisions.goals import parse_goal
from learners.learner import Learner
from learners.scores import RowScores, Scores
from learners.segment import Segment
from learners.specs import LEARNERS, LaneSpec, parse_spec
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.curves.decision_curve import DecisionCurve
from pipeline.engine.labels import Labels, RankLabels, TopicLabels
from pipeline.engine.lane import SharedSegment, new_curve, share
from pipeline.engine.pending_labels import PendingLabels
from pipeline.engine.segment_builder import SegmentBuilder
from pipeline.engine.topic_index import TopicIndex
from pipeline.events.event import Event, parse_event
from pipeline.log.block import Block, make_block
from pipeline.log.record import Span
from pipeline.log.writer import EventBatch, encode_batches
from pipeline.planning.formula import Load, Sample
from pipeline.text.feature_settings import FeatureSettings
from pipeline.text.features import Vocabulary
from pipeline.text.profile import DEFAULT_PROFILE, parse_profile
from pipeline.text.tokenizer import Tokenizer

BLOCK = 128  # documents per block of measurements
BLOCKS, TIMED = 12, 6  # the first blocks warm up
WORDS = (45, 180, 700)  # per document
POINTS = ((100, 45), (100, 180), (100, 700), (1000, 45), (1000, 180), (1000, 700), (5000, 45),
          (5000, 180))  # fmt: skip
# Topics and words of the documents that lanes are measured with.
MAX_MODEL_BYTES = 5 << 28  # a lane with a larger model is not measured
RANKS = 5
COMBINED = ("mmp:loss=1", "perceptron")  # lanes for measurements of a lane that combines others
RISK = 0.1  # of a lane that assigns topics
MAX_RECORD_BYTES = 1 << 27

Samples = dict[str, list[Sample]]
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Workload:
    """Documents with a number of topics, as lanes see them: in segments, of topics or ranks."""

    topics: int
    terms: float  # per document
    vocabulary: int
    topic_segments: list[SharedSegment]
    rank_segments: list[SharedSegment]
    block: int  # documents per segment

    @property
    def load(self) -> Load:
        """The load that a lane has with these documents."""
        return Load(topics=self.topics, terms=self.terms, block=self.block)


def events_of(documents: int, words: int, topics: int) -> list[bytes]:
    """Synthetic documents with topics, and with a rank that follows from the number of topics."""
    made = []
    for raw in SyntheticNewswire(documents=documents, topics=topics, words=words):
        event = orjson.loads(raw)
        made.append(orjson.dumps({**event, "rank": 1 + len(event["topics"]) % RANKS}))
    return made


def make_workload(topics: int, words: int, blocks: int = BLOCKS, size: int = BLOCK) -> Workload:
    """Documents with this many topics (declared in advance) and words, ready for lanes."""
    names = SyntheticNewswire(documents=1, topics=topics).topics
    raw = events_of(blocks * size, words, topics)
    tokenizer, vocabulary = Tokenizer(DEFAULT_PROFILE), new_vocabulary()
    kinds: tuple[Labels, Labels] = (TopicLabels(TopicIndex(names, topics)), RankLabels(RANKS))
    made: tuple[list[Segment], list[Segment]] = ([], [])
    terms = 0
    for block in blocks_of([parse_event(event) for event in raw], tokenizer, size):
        for vectors in vocabulary.vectors(block.counts, block.ready):
            terms += len(vectors.rows.terms)
            for segments, labels in zip(made, kinds, strict=True):
                builder = SegmentBuilder(vectors, labels, PendingLabels())
                for entry in block.entries:
                    builder.add(entry)
                segments.append(builder.build())
    # All terms are known from the beginning, so that no model grows while it is measured.
    known = [[replace(segment, terms=len(vocabulary)) for segment in each] for each in made]
    by_topics, by_ranks = ([share(one, ("none", "l2")) for one in each] for each in known)
    return Workload(topics, terms / len(raw), len(vocabulary), by_topics, by_ranks, size)


def new_vocabulary() -> Vocabulary:
    """A vocabulary with default settings."""
    return Vocabulary(FeatureSettings.of(parse_profile(DEFAULT_PROFILE), 1 << 17, None))


def blocks_of(events: Sequence[Event], tokenizer: Tokenizer, size: int) -> Iterator[Block]:
    """Blocks of documents."""
    for start in range(0, len(events), size):
        yield make_block(list(events[start : start + size]), tokenizer)


def measure_text(say: Say, blocks: int = BLOCKS) -> Samples:
    """Microseconds and bytes per document until a lane sees it, by the length of documents."""
    found: Samples = {"tokenizer": [], "vocabulary": [], "event bytes": [], "log bytes": []}
    for words in (WORDS[0], *WORDS):  # the first one warms up
        say(f"measuring tokenizer and vocabulary with {words} words per document")
        raw = events_of(blocks * BLOCK, words, 100)
        terms, text_us, vector_us = text_costs(raw)
        if words == WORDS[0] and not found["tokenizer"]:
            for samples in found.values():
                samples.clear()
        load = Load(terms=terms, block=BLOCK)
        found["tokenizer"].append(Sample(load, text_us))
        found["vocabulary"].append(Sample(load, vector_us))
        packed = len(lz4.frame.compress(b"".join(raw[: 4 * BLOCK]))) / len(raw[: 4 * BLOCK])
        found["event bytes"].append(Sample(load, packed))
        for size in (1, 20, 100, 1000):
            part = [parse_event(event) for event in raw[: min(len(raw), 50 * size)]]
            taken = sum(len(lz4.frame.compress(data)) for data in records_of(part, size))
            block = min(size, len(part))
            found["log bytes"].append(Sample(load._replace(block=block), taken / len(part)))
    return {name: samples[-len(samples) * len(WORDS) // (len(WORDS) + 1) :]
            for name, samples in found.items()}  # fmt: skip


def text_costs(raw: Sequence[bytes]) -> tuple[float, float, float]:
    """Terms per document, and microseconds per document from event to record, and to vectors."""
    tokenizer, vocabulary = Tokenizer(DEFAULT_PROFILE), new_vocabulary()
    pending, names = PendingLabels(), SyntheticNewswire(documents=1, topics=100).topics
    labels = TopicLabels(TopicIndex(names, len(names)))
    half, terms = len(raw) // 2, 0
    seconds = {"text": 0.0, "vectors": 0.0}
    for start in range(0, len(raw), BLOCK):
        began = time.process_time()
        events = [parse_event(event) for event in raw[start : start + BLOCK]]
        list(records_of(events, BLOCK, tokenizer))
        tokenized = time.process_time()
        block = make_block(events, tokenizer)
        blocked = time.process_time()
        for vectors in vocabulary.vectors(block.counts, block.ready):
            builder = SegmentBuilder(vectors, labels, pending)
            for entry in block.entries:
                builder.add(entry)
            builder.build()
            terms += len(vectors.rows.terms)
        if start >= half:
            seconds["text"] += tokenized - began
            seconds["vectors"] += time.process_time() - blocked
    timed = len(raw) - half
    return terms / len(raw), 1e6 * seconds["text"] / timed, 1e6 * seconds["vectors"] / timed


def records_of(
    events: Sequence[Event], size: int, tokenizer: Tokenizer | None = None
) -> Iterator[bytes]:
    """Records of the log with a number of documents each."""
    tokenizer = tokenizer or Tokenizer(DEFAULT_PROFILE)
    for start in range(0, len(events), size):
        part = list(events[start : start + size])
        span = Span("news.documents", 0, start, start + len(part), "A" * 22)
        batch = EventBatch(span, list(range(start, start + len(part))), part, 1_772_357_400_000)
        yield from encode_batches([batch], tokenizer, MAX_RECORD_BYTES)


def measure_lanes(learners: Iterable[str], workloads: Sequence[Workload], say: Say) -> Samples:
    """Microseconds per document of learners with their default options, measures included."""
    found: Samples = {}
    for learner in learners:
        samples = []
        for number, workload in enumerate(workloads):
            spec = parse_spec(learner)
            size = spec.build().max_bytes(workload.vocabulary, workload.topics)
            if size > MAX_MODEL_BYTES:
                continue
            if number == 0:
                lane_us(spec, workload)  # kernels are compiled
            say(f"measuring {learner} with {workload.topics:,} topics, {workload.terms:.0f} terms")
            samples.append(Sample(workload.load, lane_us(spec, workload)))
        found[f"lane {learner}"] = samples
    return found


def measure_sets(workloads: Sequence[Workload], say: Say) -> Samples:
    """Microseconds per document that a lane takes to assign topics, measures included."""
    samples = []
    for workload in (workloads[0], *workloads):  # the first one warms up
        say(f"measuring sets with {workload.topics:,} topics, {workload.terms:.0f} terms")
        samples.append(Sample(workload.load, sets_us(workload)))
    return {"sets": samples[1:]}


def sets_us(workload: Workload) -> float:
    """Microseconds of processor time per document to decide, and to measure what was decided."""
    learner = parse_spec("perceptron").build()
    decider, curve = Decider(parse_goal("micro"), RISK), DecisionCurve()
    times = []
    for shared in workload.topic_segments:
        segment = shared.by_norm["none"]
        scores, made = Scores.expect(scored(learner, segment)), Decisions.new(len(segment.rows))
        began = time.process_time()
        decider.follow(segment.steps, scores, made)
        curve.follow(segment.steps, made, segment.topics)
        times.append(1e6 * (time.process_time() - began) / len(segment.rows))
    return float(np.median(times[-TIMED:]))


def lane_us(spec: LaneSpec, workload: Workload, blocks: int = BLOCKS) -> float:
    """Microseconds of processor time per document: the median of the blocks after a warm-up."""
    learner, curve = spec.build(), new_curve(spec.build())
    learner.threads = 1
    segments = workload.rank_segments if spec.is_ordinal else workload.topic_segments
    combined = [parse_spec(text).build() for text in COMBINED] if spec.is_stacker else []
    times = []
    for shared in segments[:blocks]:
        segment = shared.by_norm[spec.norm]
        others = [scored(other, shared.by_norm["none"]) for other in combined]
        scores = learner.new_scores(len(segment.rows), segment.topics)
        began = time.process_time()
        learner.follow(segment, scores, others)
        curve.follow(segment.steps, scores)
        times.append(1e6 * (time.process_time() - began) / len(segment.rows))
    return float(np.median(times[-TIMED:]))


def scored(learner: Learner, segment: Segment) -> RowScores:
    """Let a learner follow a segment; return its scores."""
    scores = learner.new_scores(len(segment.rows), segment.topics)
    learner.follow(segment, scores)
    return scores


def thread_serial_share(workload: Workload, spec: LaneSpec, repeats: int = 3) -> float:
    """The share of a lane's time that a second thread does not divide, by the clock.

    1 if there is one core only, or if two threads are slower than one.
    """
    ratios = []
    for _ in range(repeats):
        one, two = (clock_seconds(workload, spec, threads) for threads in (1, 2))
        ratios.append(two / one)
    return float(np.clip(2 * np.median(ratios) - 1, 0.0, 1.0))


def clock_seconds(workload: Workload, spec: LaneSpec, threads: int) -> float:
    """The time by the clock that a lane takes for the blocks after a warm-up."""
    learner, began = spec.build(), 0.0
    learner.threads = threads
    for number, shared in enumerate(workload.topic_segments):
        if number == len(workload.topic_segments) // 2:
            began = time.perf_counter()
        segment = shared.by_norm[spec.norm]
        learner.follow(segment, learner.new_scores(len(segment.rows), segment.topics))
    return time.perf_counter() - began


def known_learners() -> list[str]:
    """All learners, in order."""
    return list(LEARNERS)
