"""Trains a lane in passes over the training examples and measures it after each pass."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from learners.arrays import Longs
from learners.index.base import IndexLearner
from learners.learner import Learner
from learners.scores import Scores
from learners.specs import parse_spec
from pipeline.experiments.experiment import Result
from pipeline.experiments.index_learning.recall_at_rank import recall_measures
from pipeline.experiments.index_learning.train_test_split import (
    Examples,
    Split,
    learning_segment,
    learning_steps,
    ranking_segment,
)

PATIENCE = 5  # training stops after this many passes without a better training error
MOST_PASSES = 60
CHUNK = 4096  # rows whose scores are in memory at a time


def ranks_of(learner: Learner, examples: Examples, split: Split) -> Longs:
    """The rank of the true class of each example; 0 if it was not retrieved."""
    classes = len(split.classes)
    wide = 64 if learner.scores_class.is_sparse else max(classes, 64)
    size = max(1, CHUNK * 64 // wide)
    ranks = [np.zeros(0, np.int64)]
    for start in range(0, len(examples), size):
        stop = min(start + size, len(examples))
        some = Examples(examples.rows.between(start, stop), examples.labels[start:stop])
        scores = Scores.expect(learner.new_scores(len(some), classes))
        learner.follow(ranking_segment(some, split), scores)
        ranks.append(scores.places(learning_steps(some.labels, classes)).hits)
    return np.concatenate(ranks)


def warm_up(spec: str, split: Split) -> None:
    """Compile the kernels of a lane before anything is timed."""
    learner = parse_spec(spec).build()
    few = split.train.select(np.arange(min(2, len(split.train))))
    learner.follow(learning_segment(few, split), learner.new_scores(0, len(split.classes)))
    ranks_of(learner, few, split)


def passes_of(spec: str, split: Split, passes: int, on_training: bool) -> Iterator[dict[str, Any]]:
    """Yield the measures and the training time so far after each pass, in the same order."""
    warm_up(spec, split)
    learner = parse_spec(spec).build()
    lesson = learning_segment(split.train, split)
    nothing = learner.new_scores(0, len(split.classes))  # nothing is ranked while it learns
    seconds = 0.0
    for number in range(1, passes + 1):
        before = time.process_time()
        learner.follow(lesson, nothing)
        seconds += time.process_time() - before
        if isinstance(learner, IndexLearner):
            learner.counting = False  # occurrences of features are counted in the first pass only
        measured: dict[str, Any] = {"passes": number, "seconds": seconds}
        measured.update(tested(learner, split))
        if on_training:
            measured["train_r1"] = recall_measures(ranks_of(learner, split.train, split))["r1"]
        yield measured


def tested(learner: Learner, split: Split) -> dict[str, Any]:
    """The measures on the test examples, and the size of the model.

    `d` is the mean number of connections per feature that a ranking looked at.
    """
    if not isinstance(learner, IndexLearner):
        measured = recall_measures(ranks_of(learner, split.test, split))
        return {**measured, **size_of(learner, split)}
    touched, looked_up = learner.touched, learner.looked_up
    measured = recall_measures(ranks_of(learner, split.test, split))
    looked_up = learner.looked_up - looked_up
    d = (learner.touched - touched) / looked_up if looked_up else None
    return {**measured, "d": d, "connections": connections_of(learner)}


def connections_of(learner: IndexLearner) -> int:
    """The connections that may vote; IND also keeps connections below p_ind, which do not."""
    if learner.least_share == 0.0:
        return learner.connections
    state = learner.state()
    count, weights = state["count"].astype(np.int64), state["weights"].astype(np.float64)
    shares = weights / np.repeat(state["total"].astype(np.float64), count)
    return int(np.count_nonzero(shares >= learner.least_share))


def size_of(learner: Learner, split: Split) -> dict[str, Any]:
    """The size of a model with one classifier per class; None for a baseline without weights."""
    weights = learner.state().get("weights")
    if weights is None:
        return {"d": None, "connections": None}
    return {"d": float(len(split.classes)), "connections": int(np.count_nonzero(weights))}


def train_lane(spec: str, split: Split, passes: int, on_training: bool = False) -> Result:
    """The measures of a lane after each pass."""
    return {"lane": spec, "passes": list(passes_of(spec, split, passes, on_training))}


def train_until_steady(spec: str, split: Split) -> Result:
    """The measures of a lane when its error on the training examples no longer falls."""
    best, since = -1.0, 0
    measured: dict[str, Any] = {}
    for measured in passes_of(spec, split, MOST_PASSES, on_training=True):
        better = measured["train_r1"] > best
        best, since = max(best, measured["train_r1"]), 0 if better else since + 1
        if since == PATIENCE:
            break
    return {"lane": spec, "passes": [measured]}


def train_chosen(specs: list[str], split: Split, passes: int, share: float) -> Result:
    """The best of several lanes, with the best number of passes, chosen on held-out examples."""
    held_out = split.held_out(share)
    tried = [
        (measured["r1"], -measured["passes"], spec)
        for spec in specs
        for measured in passes_of(spec, held_out, passes, on_training=False)
    ]
    # Of equally good ones the one with fewer passes, then the one listed first.
    _, fewest, spec = max(tried, key=lambda one: one[:2])
    measured = list(passes_of(spec, split, -fewest, on_training=False))[-1]
    return {"passes": [measured], "chosen": {"lane": spec, "passes": -fewest}}
