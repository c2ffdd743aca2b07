"""Kernels of a stretch against plain computations."""

from __future__ import annotations

import numpy as np

from learners.prototypes.mmp import mmp_coefficients
from learners.segment import Rows
from learners.sharding.lessons import Scored, lead_coefficients, leads_are_certain
from learners.sharding.sparse_stretch import decoded, inner_products


def test_rounding_changes_no_decision_that_is_certain() -> None:
    """Scores moved within their slack decide the same, or the decision was not certain."""
    certain = 0
    for seed in range(3000):
        rng = np.random.default_rng(seed)
        known = int(rng.integers(2, 40))
        # Topics with the same history have everything in common.
        past = rng.integers(0, known, known)
        noise = rng.normal(0, 1e-9, known) * rng.integers(0, 2, known)
        values = (rng.integers(-3, 4, known) + noise)[past]
        touched = (rng.random(known) < rng.random())[past]
        slack = np.where(touched, 10.0 ** rng.integers(-12, -7), 0.0)
        moved = values + slack * rng.uniform(-1, 1, known)[past]
        relevant = int(rng.integers(1, known))
        margin = float(rng.choice((0.0, 1.0)))
        topics, history = np.arange(known, dtype=np.int32), past.astype(np.uint64)
        scored = Scored(topics, values, touched, slack, np.zeros(known, np.bool_))
        if leads_are_certain(scored, relevant, margin, history):
            certain += 1
            one, two = (
                scores[:relevant, None] - scores[relevant:] <= margin for scores in (values, moved)
            )
            assert np.array_equal(one, two)
    assert 100 < certain < 2900


def test_coefficients_of_some_topics_equal_those_of_all() -> None:
    """Topics that every relevant one leads by more than the margin can be left out."""
    for seed in range(500):
        rng = np.random.default_rng(seed)
        known, margin = int(rng.integers(2, 30)), float(rng.choice((0.0, 0.5)))
        scores = rng.integers(-4, 5, known) / 4
        relevant = rng.permutation(known)[: rng.integers(1, known)].astype(np.int32)
        others = np.setdiff1d(np.arange(known, dtype=np.int32), relevant)
        near = others[scores[relevant].min() - scores[others] <= margin]
        topics = np.concatenate((relevant, near))
        flags = np.zeros(len(topics), np.bool_)
        scored = Scored(topics, scores[topics], flags, np.zeros(len(topics)), flags)
        for loss in (1, 2, 3):
            expected, tau = np.zeros(known), np.empty(len(topics))
            any_expected = mmp_coefficients(scores, known, relevant, loss, margin, expected)
            moves = lead_coefficients(scored, len(relevant), known, loss, margin, tau)
            assert moves == any_expected
            actual = np.zeros(known)
            actual[topics] = tau
            assert not moves or actual.tobytes() == (expected + 0.0).tobytes()


def test_inner_products_are_zero_only_without_a_common_term() -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        dense = rng.integers(-2, 3, (8, 12)).astype(np.float64)
        present = rng.random(dense.shape) < 0.3
        starts = np.concatenate(([0], np.cumsum(present.sum(axis=1)))).astype(np.int64)
        rows = Rows(starts, np.nonzero(present)[1].astype(np.int32), dense[present])
        chosen = np.array([1, 3, 3, 7, 0], np.int64)
        last = np.full(12, -1, np.int64)
        products = inner_products(rows, chosen, last)
        assert (last == -1).all()
        for j, row in enumerate(chosen):
            for i, other in enumerate(chosen[:j]):
                exact = (dense[row] * dense[other])[present[row] & present[other]].sum()
                assert abs(products[j, i] - exact) < 1e-300
                assert (products[j, i] != 0.0) == (present[row] & present[other]).any()


def test_codes_are_within_their_doubt() -> None:
    rng = np.random.default_rng(1)
    for score, base in rng.normal(0.0, 1.0, (2000, 2)) * 10.0 ** rng.integers(-9, 9, (2000, 1)):
        approximate, doubt = decoded(np.float32(score - base), base)
        assert abs(approximate - score) <= doubt / 2
