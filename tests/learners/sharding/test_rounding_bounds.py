"""Decisions that are certain: no rounding error within the bounds changes them."""

from __future__ import annotations

import numpy as np

from learners.sharding.rounding_bounds import (
    Bounds,
    leads_are_certain,
    order_is_certain,
    sides_are_certain,
)


def test_rounding_changes_no_decision_that_is_certain() -> None:
    """Scores moved within their slack decide the same, or the decision was not certain."""
    certain = [0, 0, 0]
    for seed in range(3000):
        rng = np.random.default_rng(seed)
        known = int(rng.integers(1, 40))
        # Topics with the same history have everything in common.
        past = rng.integers(0, known, known)
        history = past.astype(np.uint64)
        noise = rng.normal(0, 1e-9, known) * rng.integers(0, 2, known)
        values = (rng.integers(-3, 4, known) + noise)[past]
        touched = (rng.random(known) < rng.random())[past]
        slack = np.where(touched, 10.0 ** rng.integers(-12, -7), 0.0)
        moved = values + slack * rng.uniform(-1, 1, known)[past]
        relevant = np.flatnonzero(rng.random(known) < 0.2).astype(np.int32)
        margin = float(rng.choice((0.0, 1.0)))
        bounds = Bounds(touched, slack, history)
        if order_is_certain(values, known, bounds):
            certain[0] += 1
            before, after = (np.sign(scores[:, None] - scores) for scores in (values, moved))
            assert np.array_equal(before, after)
        if leads_are_certain(values, known, relevant, margin, bounds):
            certain[1] += 1
            one, two = (scores[relevant][:, None] - scores <= margin for scores in (values, moved))
            assert np.array_equal(one, two)
        if sides_are_certain(values, known, margin, bounds):
            certain[2] += 1
            assert np.array_equal(np.abs(values) <= margin, np.abs(moved) <= margin)
    assert all(100 < count < 2900 for count in certain), certain
