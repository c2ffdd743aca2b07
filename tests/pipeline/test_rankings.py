"""Ranking events: order, ties, how many."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pipeline.blocks import Entry
from pipeline.engine import Ranked
from pipeline.rankings import best_first, ranking_events
from pipeline.slow import slow_ranking_events


@pytest.mark.parametrize("top", [0, 1, 3, 10, 40])
def test_best_first_equals_a_stable_sort(top: int) -> None:
    rng = random.Random(top)
    for _ in range(300):
        topics = rng.randrange(25)
        scores = np.array([[float(rng.randrange(-3, 4)) for _ in range(topics)]]).reshape(1, topics)
        known = rng.randrange(topics + 1)
        order = best_first(scores, np.array([known], np.int32), top)[0]
        expected = sorted(range(known), key=lambda r: (-scores[0, r], r))[:top]
        assert order[order >= 0].tolist() == expected
        assert len(order) == top


AWKWARD = [
    "",
    "plain",
    'a "quoted" name',
    "back\\slash",
    "new\nline",
    "ünïcode 𝄞",
    "</script>",
    ",{}",
]
IDS: list[str | int] = [*AWKWARD, 7, -(2**53)]


@pytest.mark.parametrize("top", [0, 1, 3, 10])
@pytest.mark.parametrize("seed", range(20))
def test_events_equal_those_built_as_objects(seed: int, top: int) -> None:
    rng = random.Random(seed)
    topics = [f"{rng.choice(AWKWARD)}{n}" for n in range(rng.randrange(12))]
    lanes = [f"{rng.choice(AWKWARD)}{n}" for n in range(rng.randrange(1, 4))]
    documents = [
        Entry(rng.choice(IDS), n, None, rng.choice([None, *AWKWARD]))
        for n in range(rng.randrange(6))
    ]
    numbers = [0.0, -0.0, 1.0, -1.5, 1 / 3, 1e-300, 1e300, 123456789.125, 5e-324, 1e16, -1e22]
    scores = [
        np.array([[rng.choice(numbers) for _ in topics] for _ in documents]).reshape(
            len(documents), len(topics)
        )
        for _ in lanes
    ]
    known = np.array(sorted(rng.randrange(len(topics) + 1) for _ in documents), np.int32)
    rounds = sorted(rng.choice([0, 9, 10, 99, 100, 2**62]) for _ in documents)
    ranked = Ranked(documents, rounds, known, scores)
    expected = slow_ranking_events(ranked, lanes, topics, top)
    assert ranking_events(ranked, lanes, topics, top) == expected
