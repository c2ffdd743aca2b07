"""Lanes by their specs in an experiment: trained in passes and measured after each."""

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
from pipeline.experiments.examples import Examples, Split, lessons, to_learn, to_rank
from pipeline.experiments.experiment import Result
from pipeline.experiments.hits import measures_of

PATIENCE = 5  # passes without a better training error, after which a perceptron is left alone
MOST_PASSES = 60
CHUNK = 4096  # rows whose scores are held at a time


def ranks_of(learner: Learner, examples: Examples, split: Split) -> Longs:
    """The rank of the true class of each example; 0 if it was not retrieved."""
    classes = len(split.classes)
    wide = 64 if learner.scores_class.is_sparse else max(classes, 64)
    size = max(1, CHUNK * 64 // wide)
    found = [np.zeros(0, np.int64)]
    for start in range(0, len(examples), size):
        stop = min(start + size, len(examples))
        some = Examples(examples.rows.between(start, stop), examples.labels[start:stop])
        scores = Scores.expect(learner.new_scores(len(some), classes))
        learner.follow(to_rank(some, split), scores)
        found.append(scores.places(lessons(some.labels, classes)).hits)
    return np.concatenate(found)


def warm_up(spec: str, split: Split) -> None:
    """Compile the kernels of a lane, so that no compiling is timed."""
    learner = parse_spec(spec).build()
    few = split.train.chosen(np.arange(min(2, len(split.train))))
    learner.follow(to_learn(few, split), learner.new_scores(0, len(split.classes)))
    ranks_of(learner, few, split)


def passes_of(spec: str, split: Split, passes: int, on_training: bool) -> Iterator[dict[str, Any]]:
    """Train pass by pass in the same order; the measures after each, and what it took so far."""
    warm_up(spec, split)
    learner = parse_spec(spec).build()
    lesson = to_learn(split.train, split)
    nothing = learner.new_scores(0, len(split.classes))  # nothing is ranked while it learns
    seconds = 0.0
    for number in range(1, passes + 1):
        before = time.process_time()
        learner.follow(lesson, nothing)
        seconds += time.process_time() - before
        if isinstance(learner, IndexLearner):
            learner.counting = False  # how often a feature was seen is counted in the first pass
        measured: dict[str, Any] = {"passes": number, "seconds": seconds}
        measured.update(tested(learner, split))
        if on_training:
            measured["train_r1"] = measures_of(ranks_of(learner, split.train, split))["r1"]
        yield measured


def tested(learner: Learner, split: Split) -> dict[str, Any]:
    """The measures on the test examples, the size of the model, and what ranking touched."""
    if not isinstance(learner, IndexLearner):
        measured = measures_of(ranks_of(learner, split.test, split))
        return {**measured, **size_of(learner, split)}
    touched, looked_up = learner.touched, learner.looked_up
    measured = measures_of(ranks_of(learner, split.test, split))
    looked_up = learner.looked_up - looked_up
    d = (learner.touched - touched) / looked_up if looked_up else None
    return {**measured, "d": d, "connections": connections_of(learner)}


def connections_of(learner: IndexLearner) -> int:
    """The connections that may have a vote; IND counts on with those that are below p_ind."""
    if learner.least == 0.0:
        return learner.connections
    state = learner.state()
    count, weights = state["count"].astype(np.int64), state["weights"].astype(np.float64)
    shares = weights / np.repeat(state["total"].astype(np.float64), count)
    return int(np.count_nonzero(shares >= learner.least))


def size_of(learner: Learner, split: Split) -> dict[str, Any]:
    """Of a classifier for each class: the weights that are not 0; a baseline has none."""
    weights = learner.state().get("weights")
    if weights is None:
        return {"d": None, "connections": None}
    return {"d": float(len(split.classes)), "connections": int(np.count_nonzero(weights))}


def train_lane(spec: str, split: Split, passes: int, on_training: bool = False) -> Result:
    """The measures of a lane after each of so many passes."""
    return {"lane": spec, "passes": list(passes_of(spec, split, passes, on_training))}


def train_until_steady(spec: str, split: Split) -> Result:
    """The measures of a lane once its error on the training examples does not fall any more."""
    best, since = -1.0, 0
    measured: dict[str, Any] = {}
    for measured in passes_of(spec, split, MOST_PASSES, on_training=True):
        better = measured["train_r1"] > best
        best, since = max(best, measured["train_r1"]), 0 if better else since + 1
        if since == PATIENCE:
            break
    return {"lane": spec, "passes": [measured]}


def train_chosen(specs: list[str], split: Split, passes: int, share: float) -> Result:
    """The best of some lanes after the best number of passes, chosen on held-out examples."""
    held_out = split.held_out(share)
    tried = [
        (measured["r1"], -measured["passes"], spec)
        for spec in specs
        for measured in passes_of(spec, held_out, passes, on_training=False)
    ]
    # The first of the best: fewer passes before more, then as listed.
    _, fewest, spec = max(tried, key=lambda one: one[:2])
    measured = list(passes_of(spec, split, -fewest, on_training=False))[-1]
    return {"passes": [measured], "chosen": {"lane": spec, "passes": -fewest}}
