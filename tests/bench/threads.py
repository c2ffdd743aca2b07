"""A lane of many topics in one thread and in two: how many times as fast, and where it pays."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from learners import threads as threads_module
from learners.arrays import Floats, Ints
from learners.learner import Learner
from learners.prototypes import mmp
from learners.prototypes.arow import EFFORT
from learners.segment import Rows, Segment, Steps
from learners.specs import parse_spec
from learners.threads import slices_for

LANES = ("mmp:loss=1", "perceptron", "arow", "soft-arow", "rocchio")
TOPICS = (100, 500, 1_000, 5_000, 20_000)
TERMS = (50, 125)
BLOCK = 512
NUMBERS = 100_000_000  # of a matrix of weights, at most
MAX_FEATURES = 20_000


def run(documents: int) -> None:
    """Print the table."""
    print(
        "One thread and two for one lane: time per document in one thread, and how many times as "
        "fast two are;\n* where two threads are used without being asked for"
    )
    print(f"  {'topics':>8}{'terms':>7}" + "".join(f"{lane:>18}" for lane in LANES))
    for topics in TOPICS:
        for terms in TERMS:
            # Large models are slow, and have settled after fewer documents.
            count = max(6 * BLOCK, min(documents, 20_000_000 // (topics * terms) * BLOCK))
            segments = list(blocks(count, topics, terms))
            cells = "".join(f"{compared(lane, segments):>18}" for lane in LANES)
            print(f"  {topics:>8,}{terms:>7}{cells}", flush=True)


def compared(lane: str, segments: list[Segment]) -> str:
    """The time in one thread, and the median over the blocks of the ratio to two threads."""
    effort = EFFORT if "arow" in lane else 1
    min_step = mmp.MIN_STEP if lane.startswith("mmp") else 0
    chosen = slices_for(segments[-1], 2, effort, min_step)
    one, two = parse_spec(lane).build(), parse_spec(lane).build()
    one.threads, two.threads = 1, 2
    single, ratios = [], []
    limits = threads_module.MIN_WORK, threads_module.MIN_COLUMNS, mmp.MIN_STEP
    threads_module.MIN_WORK, threads_module.MIN_COLUMNS, mmp.MIN_STEP = 1, 1, 0
    try:
        for number, segment in enumerate(segments):
            # Each goes first every other time.
            pair = (one, two) if number % 2 else (two, one)
            seconds = {id(learner): seconds_of(learner, segment) for learner in pair}
            single.append(1e6 * seconds[id(one)] / len(segment.rows))
            ratios.append(seconds[id(one)] / seconds[id(two)])
    finally:
        threads_module.MIN_WORK, threads_module.MIN_COLUMNS, mmp.MIN_STEP = limits
    half = len(segments) // 2
    mark = "*" if len(chosen) > 1 else " "
    return f"{np.median(single[half:]):,.0f} us {np.median(ratios[half:]):.2f}{mark}"


def seconds_of(learner: Learner, segment: Segment) -> float:
    """The time that a learner takes for a segment."""
    scores = learner.new_scores(len(segment.rows), segment.topics)
    started = time.perf_counter()
    learner.follow(segment, scores)
    return time.perf_counter() - started


def blocks(documents: int, topics: int, terms: int, seed: int = 1) -> Iterator[Segment]:
    """Labelled documents with words of their topics; words and topics are Zipf-distributed."""
    rng = np.random.default_rng(seed)
    features = min(MAX_FEATURES, NUMBERS // topics)
    own = rng.integers(0, features, (topics, 40))  # the words that signal a topic
    for _ in range(0, documents, BLOCK):
        labels = [np.unique(zipf(rng, topics, int(rng.integers(1, 4)))) for _ in range(BLOCK)]
        rows = [
            np.unique(
                np.concatenate(
                    (zipf(rng, features, terms), rng.choice(own[some].ravel(), terms // 3))
                )
            )
            for some in labels
        ]
        values = [rng.exponential(1.0, len(row)) + 0.1 for row in rows]
        yield labelled(
            rows, [some / np.sqrt((some**2).sum()) for some in values], labels, features, topics
        )


def zipf(rng: np.random.Generator, numbers: int, count: int) -> Ints:
    """Draw numbers below `numbers`; number n comes about n times less often than the first."""
    drawn: Ints = (np.exp(rng.random(count) * np.log(numbers + 1)) - 1).astype(np.int32)
    return drawn


def labelled(
    rows: list[Ints], values: list[Floats], labels: list[Ints], features: int, topics: int
) -> Segment:
    """The documents as a segment; each is ranked, then learned."""
    ends = np.cumsum([len(some) for some in labels])
    known = np.full(2 * len(rows), topics, np.int32)
    steps = Steps(
        np.repeat(np.arange(len(rows), dtype=np.int32), 2),
        np.tile([False, True], len(rows)),
        known,
        np.concatenate(([0], np.column_stack((np.r_[0, ends[:-1]], ends)).ravel())),
        np.concatenate(labels).astype(np.int32),
        known,
    )
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    vectors = Rows(starts, np.concatenate(rows).astype(np.int32), np.concatenate(values))
    return Segment(vectors, steps, features, topics)
