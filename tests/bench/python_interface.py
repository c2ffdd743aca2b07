"""`learn_many` on a sparse matrix beside the engine's own calls, and beside scikit-learn's loop.

All take turns on the same documents, and the ratios of the medians are shown. The engine's time is
that of a lane: room for the scores, scaling of the vectors, and the kernel. Measures are left out.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from learners.segment import Segment
from learners.specs import parse_spec
from learners.topic_learner import TopicLearner
from pipeline.engine.lane import share
from tests.bench.workload import BLOCK, Workload, make_workload

SPECS = ("mmp:loss=1", "perceptron", "arow", "feature-focus")
TURNS = 15
ONE_BY_ONE = 1000  # documents that are learned by one call each


def matrix_of(workload: Workload) -> tuple[Any, list[list[str]]]:
    """The documents as a sparse matrix, and their topics as names."""
    rows = [segment.rows for segment in workload.segments]
    counts = np.concatenate([np.diff(part.starts) for part in rows])
    starts = np.concatenate(([0], np.cumsum(counts)))
    terms = np.concatenate([part.terms for part in rows])
    values = np.concatenate([part.values for part in rows])
    X = sparse.csr_matrix((values, terms, starts), shape=(len(counts), workload.terms))
    X.sort_indices()
    topics = []
    for segment in workload.segments:
        steps = segment.steps
        for step in np.flatnonzero(steps.learn):
            labels = steps.labels[steps.label_starts[step] : steps.label_starts[step + 1]]
            topics.append([workload.topics[label] for label in labels])
    return X, topics


def new_learner(spec: str) -> TopicLearner:
    """A learner by its spec, to be used by hand."""
    parsed = parse_spec(spec)
    learner = parsed.build()
    assert isinstance(learner, TopicLearner)
    learner.norm = parsed.norm
    return learner


def follow(spec: str, segments: list[Segment]) -> None:
    """Learn prepared segments, as a lane does."""
    parsed = parse_spec(spec)
    learner = parsed.build()
    for segment in segments:
        scores = learner.new_scores(len(segment.rows), segment.topics)
        learner.follow(share(segment, [parsed.norm]).by_norm[parsed.norm], scores)


def learn_many(spec: str, parts: Sequence[tuple[Any, list[list[str]]]], names: list[str]) -> None:
    """Learn several matrices, one after the other."""
    learner = new_learner(spec).declare_topics(names)
    for part, topics in parts:
        learner.learn_many(part, topics)


def learn_one(spec: str, X: Any, topics: list[list[str]], names: list[str]) -> None:  # noqa: ANN401
    """Rank and learn some documents as dictionaries, one by one."""
    learner = new_learner(spec).declare_topics(names)
    for row in range(ONE_BY_ONE):
        document = X[row]
        terms = dict(zip(document.indices.tolist(), document.data.tolist(), strict=True))
        learner.rank_one(terms)
        learner.learn_one(terms, topics[row])


def scikit_learn(X: Any, Y: Any) -> None:  # noqa: ANN401
    """Learn with one perceptron of scikit-learn per topic, in parts of a block."""
    from sklearn.linear_model import SGDClassifier

    machines = [SGDClassifier(loss="perceptron", penalty=None) for _ in range(Y.shape[1])]
    for start in range(0, X.shape[0], BLOCK):
        part, labels = X[start : start + BLOCK], Y[start : start + BLOCK]
        for topic, machine in enumerate(machines):
            machine.partial_fit(part, labels[:, topic], classes=[0, 1])


def medians(tasks: dict[str, Callable[[], None]], turns: int = TURNS) -> dict[str, float]:
    """The median processor time of tasks that take turns, after a first turn that compiles."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for turn in range(turns + 1):
        for name, task in tasks.items():
            began = time.process_time()
            task()
            if turn:
                seconds[name].append(time.process_time() - began)
    return {name: statistics.median(values) for name, values in seconds.items()}


def run(documents: int) -> None:
    """Print the times per document, and their ratios to the engine's."""
    workload = make_workload(documents)
    X, topics = matrix_of(workload)
    names, segments = workload.topics, workload.segments
    print(f"python: a matrix of {X.shape[0]:,} x {X.shape[1]:,}, {len(names)} topics")
    starts = range(0, documents, BLOCK)
    parts = [(X[start : start + BLOCK], topics[start : start + BLOCK]) for start in starts]
    for spec in SPECS:
        tasks: dict[str, Callable[[], None]] = {
            "engine, prepared segments": partial(follow, spec, segments),
            "learn_many, 1,024 rows per call": partial(learn_many, spec, parts, names),
            "learn_many, one call": partial(learn_many, spec, [(X, topics)], names),
        }
        times = medians(tasks)
        base = times["engine, prepared segments"]
        for name, value in times.items():
            each = value / documents * 1e6
            print(f"  {spec:<14}{name:<34}{each:7.2f} us per document{value / base:7.2f} x")
    Y = np.zeros((X.shape[0], len(names)), np.int64)
    for row, labels in enumerate(topics):
        Y[row, [names.index(label) for label in labels]] = 1
    few = X[:BLOCK], Y[:BLOCK]
    others = medians(
        {
            "rank_one and learn_one": lambda: learn_one("mmp:loss=1", X, topics, names),
            "one perceptron of scikit-learn per topic": lambda: scikit_learn(*few),
        },
        3,
    )
    for (name, value), count in zip(others.items(), (ONE_BY_ONE, BLOCK), strict=True):
        print(f"  {name:<48}{value / count * 1e6:7.1f} us per document")
