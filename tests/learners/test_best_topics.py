"""The best topics of rows, found with a bar: as sorting finds them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from learners.arrays import Floats, Ints
from learners.best_topics import best_of_all

ROWS = 60
SCORES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "long tails": lambda rng, shape: rng.standard_cauchy(shape) ** 3,
    "a scale per row": lambda rng, shape: (
        rng.normal(size=shape) * 10.0 ** rng.integers(-200, 200, (shape[0], 1))
    ),
    "a place per row": lambda rng, shape: (
        rng.normal(size=shape) + 1e6 * rng.normal(size=(shape[0], 1))
    ),
    "ties": lambda rng, shape: rng.integers(-2, 3, shape).astype(np.float64),
    "mostly zero": lambda rng, shape: rng.normal(size=shape) * (rng.random(shape) < 0.05),
    "all equal": lambda rng, shape: np.full(shape, rng.normal()),
    "infinite": lambda rng, shape: np.where(
        rng.random(shape) < 0.3, rng.choice([-np.inf, np.inf], shape), rng.normal(size=shape)
    ),
    "smallest": lambda rng, shape: (rng.integers(-3, 4, shape) * 5e-324).astype(np.float64),
    "rising": lambda _, shape: np.arange(shape[0] * shape[1], dtype=np.float64).reshape(shape),
    "falling": lambda _, shape: -np.arange(shape[0] * shape[1], dtype=np.float64).reshape(shape),
}


def sorted_rows(scores: Floats, known: Ints, top: int) -> tuple[Ints, Floats]:
    """The best topics by sorting, ties by index; -1 and 0 where there are no more."""
    order, values = np.full((len(known), top), -1, np.int32), np.zeros((len(known), top))
    for row, topics in enumerate(known):
        best = sorted(range(topics), key=lambda topic: (-scores[row, topic], topic))[:top]
        order[row, : len(best)], values[row, : len(best)] = best, scores[row, best]
    return order, values


@pytest.mark.parametrize("top", [0, 1, 2, 10, 20])
@pytest.mark.parametrize("topics", [1, 2, 20, 41, 103, 700])
@pytest.mark.parametrize("kind", sorted(SCORES))
def test_best_topics_are_those_of_sorting(kind: str, topics: int, top: int) -> None:
    rng = np.random.default_rng([topics, top])
    scores = SCORES[kind](rng, (ROWS, topics))
    known = rng.integers(0, topics + 1, ROWS).astype(np.int32)
    known[rng.random(ROWS) < 0.5] = topics
    order, values = np.full((ROWS, top), -1, np.int32), np.zeros((ROWS, top))
    best_of_all(scores, known, order, values)
    expected = sorted_rows(scores, known, top)
    assert np.array_equal(order, expected[0])
    assert np.array_equal(values, expected[1])
