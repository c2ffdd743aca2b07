"""Measures of said ranks: by their definitions."""

from __future__ import annotations

import math
import random
from itertools import combinations

import numpy as np
import pytest

from learners.rank_measures import tau_b

Pairs = list[tuple[int, int]]


def tau_by_definition(pairs: Pairs) -> float:
    ordered, distinct, to_tell = 0, 0, 0
    for (a, x), (b, y) in combinations(pairs, 2):
        ordered += ((a > b) - (a < b)) * ((x > y) - (x < y))
        distinct += a != b
        to_tell += x != y
    return ordered / math.sqrt(distinct * to_tell) if distinct and to_tell else math.nan


def table_of(pairs: Pairs, ranks: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    table = np.zeros((ranks, ranks), np.int64)
    for predicted, true in pairs:
        table[predicted - 1, true - 1] += 1
    return table


def test_tau_b_equals_its_definition() -> None:
    seen = set()
    for seed in range(300):
        rng = random.Random(seed)
        ranks = rng.randrange(1, 7)
        pairs = [
            (rng.randrange(ranks) + 1, rng.randrange(ranks) + 1) for _ in range(rng.randrange(30))
        ]
        expected = tau_by_definition(pairs)
        assert tau_b(table_of(pairs, ranks)) == pytest.approx(expected, nan_ok=True)
        seen.add(math.isnan(expected))
    assert seen == {False, True}


def test_tau_b_of_orders_that_agree_or_not() -> None:
    assert tau_b(np.diag([3, 1, 2])) == pytest.approx(1.0)
    assert tau_b(np.diag([3, 1, 2])[::-1].copy()) == pytest.approx(-1.0)
