"""Ranking events: order, ties, how many."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pipeline.rankings import best_first


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
