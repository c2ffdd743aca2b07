"""The speed of ordinal lanes, beside a plain numpy loop on the same documents."""

from __future__ import annotations

import time

import numpy as np

from learners import MulticlassPerceptron, PRank, WidrowHoff
from learners.arrays import Floats, Longs
from learners.ordinal.base import OrdinalLearner
from learners.scores import RANK, RankScores
from learners.segment import Rows, Segment, Steps
from tests.bench.speed import line

TERMS, FEATURES, RANKS, REPEATS = 20_000, 100, 5, 5
WITH_KERNEL = 2_000  # documents; the cost of each grows with the budget of instances


def ranked_documents(documents: int) -> Segment:
    """Documents of 100 features; their ranks follow a hidden direction, with noise."""
    rng = np.random.default_rng(0)
    # Distinct terms; the first of each hundred is in about every other document.
    spread = (rng.random((documents, FEATURES)) ** 3 * (TERMS // FEATURES)).astype(np.int32)
    terms = spread * FEATURES + np.arange(FEATURES, dtype=np.int32)
    values = rng.normal(size=(documents, FEATURES)) / np.sqrt(FEATURES)
    height = (rng.normal(size=TERMS)[terms] * values).sum(axis=1) + rng.normal(0, 0.1, documents)
    labels = np.searchsorted(np.quantile(height, np.arange(1, RANKS) / RANKS), height)
    return Segment(
        Rows(
            np.arange(documents + 1, dtype=np.int64) * FEATURES,
            terms.astype(np.int32).ravel(),
            values.ravel(),
        ),
        Steps(
            np.repeat(np.arange(documents, dtype=np.int32), 2),
            np.tile([False, True], documents),
            np.full(2 * documents, RANKS, np.int32),
            np.arange(2 * documents + 1, dtype=np.int64) // 2,
            labels.astype(np.int32),
            np.full(2 * documents, RANKS, np.int32),
        ),
        TERMS,
        RANKS,
    )


def numpy_prank(segment: Segment) -> tuple[float, Longs]:
    """The seconds of a plain numpy PRank, one document at a time, and its ranks."""
    rows = [segment.rows.row(i) for i in range(len(segment.rows))]
    true = segment.steps.labels + 1
    weights, thresholds, below = np.zeros(TERMS), np.zeros(RANKS - 1), np.arange(1, RANKS)
    ranks = np.zeros(len(rows), np.int64)
    started = time.perf_counter()
    for i, (terms, values) in enumerate(rows):
        score = weights[terms] @ values
        ranks[i] = np.searchsorted(thresholds, score, side="right") + 1
        if ranks[i] != true[i]:
            signs = np.where(true[i] <= below, -1.0, 1.0)
            errors = np.where((score - thresholds) * signs <= 0, signs, 0.0)
            weights[terms] += errors.sum() * values
            thresholds -= errors
    return time.perf_counter() - started, ranks


def lane_seconds(learner: OrdinalLearner, segment: Segment) -> tuple[float, Floats]:
    """The seconds of a new learner with compiled kernels, and its ranks."""
    ranks = RankScores(len(segment.rows))
    started = time.perf_counter()
    learner.follow(segment, ranks)
    return time.perf_counter() - started, ranks.matrix


def run(documents: int) -> None:
    """Print the comparison."""
    segment = ranked_documents(documents)
    lane_seconds(PRank(RANKS), segment.between(0, 10))
    print(f"Ordinal lanes, ready-made vectors: {RANKS} ranks, {FEATURES} features per document")
    plain, expected = min((numpy_prank(segment) for _ in range(REPEATS)), key=lambda run: run[0])
    line("PRank, a plain numpy loop", plain, documents)
    for name, make in (
        ("prank", PRank),
        ("widrow-hoff", WidrowHoff),
        ("multiclass-perceptron", MulticlassPerceptron),
    ):
        runs = [lane_seconds(make(RANKS), segment) for _ in range(REPEATS)]
        seconds, ranks = min(runs, key=lambda run: run[0])
        line(f"Wirerank {name}, linear", seconds, documents, plain)
        if name == "prank":
            same = (ranks[:, RANK] == expected).mean()
            print(f"  both predict the same rank for {same:.2%} of the documents")
    part = segment.between(0, 2 * WITH_KERNEL)
    seconds, _ = lane_seconds(PRank(RANKS, kernel="poly2"), part)
    line("Wirerank prank, poly2, budget 1000", seconds, WITH_KERNEL)
