"""A lane of many topics, whole and sharded: the time per document, and the share of exchanges."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from learners.learner import Learner
from learners.segment import Rows, Segment, Steps
from learners.sharding.local_shards import Shards
from learners.specs import parse_spec

TOPICS, FEATURES, TERMS = 5_000, 50_000, 100
BLOCK = 512
LANE = "mmp:loss=1"


def blocks(documents: int, seed: int = 1) -> Iterator[Segment]:
    """Labelled documents with words of their topics; words and topics are Zipf-distributed."""
    rng = np.random.default_rng(seed)
    topics = 1 / np.arange(1.0, TOPICS + 1)
    words = 1 / np.arange(1.0, FEATURES + 1)
    topics, words = topics / topics.sum(), words / words.sum()
    own = rng.integers(0, FEATURES, (TOPICS, 40))  # the words that signal a topic
    for _ in range(0, documents, BLOCK):
        labels = [
            rng.choice(TOPICS, rng.integers(1, 4), replace=False, p=topics) for _ in range(BLOCK)
        ]
        starts, terms, values = [0], list[np.ndarray](), list[np.ndarray]()
        for of_document in labels:
            about = own[of_document].ravel()
            some = rng.choice(about, TERMS // 3)
            actual = np.unique(np.concatenate((rng.choice(FEATURES, TERMS, p=words), some)))
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


def microseconds(learner: Learner, segments: list[Segment]) -> dict[str, float]:
    """The time per document, in total and by part, in the second half of the blocks."""
    half = len(segments) // 2
    before, started = learner.timings(), 0.0
    for number, segment in enumerate(segments):
        if number == half:
            before, started = learner.timings(), time.perf_counter()
        learner.follow(segment, learner.new_scores(len(segment.rows), segment.topics))
    taken = time.perf_counter() - started
    parts = {part: seconds - before[part] for part, seconds in learner.timings().items()}
    counted = BLOCK * (len(segments) - half)
    return {name: 1e6 * seconds / counted for name, seconds in {"all": taken, **parts}.items()}


def run(documents: int) -> None:
    """Print the table."""
    segments = list(blocks(documents))
    print(
        f"A lane of {TOPICS:,} topics and {FEATURES:,} features, documents of about {TERMS} terms "
        f"in blocks of {BLOCK}; shards are threads of one process"
    )
    print("  us/document          total    score  update  resolve  wait    exchanges/block")
    warm = [next(blocks(BLOCK))]
    for shards in (1, 2, 4):
        spec = f"{LANE},shards={shards}"
        microseconds(parse_spec(spec).build(), warm * 2)  # compiled
        learner = parse_spec(spec).build()
        actual = microseconds(learner, segments)
        line = f"  {shards} shard{'s' if shards > 1 else ' '}          {actual['all']:9,.0f}"
        if isinstance(learner, Shards):
            line += "".join(
                f"{actual[part]:9,.0f}" for part in ("score", "update", "resolve", "wait")
            )
            line += f"{int(learner.state()['exchanges']) / len(segments):9.1f}"
        print(line, flush=True)
