"""Kernels of a stretch against plain computations."""

from __future__ import annotations

import numpy as np

from learners.prototypes.mmp import mmp_coefficients
from learners.segment import Rows
from learners.sharding.certain_leads import (
    NO_MOVES,
    DenseUpdates,
    Scored,
    Updates,
    leads_are_certain,
    moves_by,
)
from learners.sharding.lessons import lead_coefficients
from learners.sharding.level_topics import MOST_CLASSES, class_of, fingerprints, label_fingerprints
from learners.sharding.sparse_stretch import can_be_coded, decoded, inner_products


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
        nothing = np.zeros(known, np.uint8)
        scored = Scored(topics, values, touched, slack, nothing > 0, nothing)
        if leads_are_certain(scored, relevant, margin, history, NO_MOVES):
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
        level = np.zeros(len(topics), np.uint8)
        scored = Scored(topics, scores[topics], flags, np.zeros(len(topics)), flags, level)
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


def test_a_score_that_is_coded_decides_its_first_lesson() -> None:
    """Otherwise shards could not go on: scores at the beginning of a stretch must decide."""
    rng = np.random.default_rng(8)
    coded = 0
    for _ in range(4000):
        margin = rng.choice([0.0, 0.5, 1e-9])
        unit = 2.0 ** -float(rng.integers(20, 60))
        line = margin + float(rng.integers(-3, 4)) * unit  # often next to the margin
        score = float(rng.integers(-5, 6)) * unit * rng.choice([1.0, 1e-3, 1e3])
        base, lines = line - margin, np.array([line])
        if not can_be_coded(score, base, lines, margin):
            continue
        coded += 1
        approximate, doubt = decoded(np.float32(score - base), base)
        scored = Scored(
            np.arange(2, dtype=np.int32), np.array([line, approximate]), np.zeros(2, np.bool_),
            np.array([0.0, doubt]), np.array([False, True]), np.zeros(2, np.uint8),
        )  # fmt: skip
        assert leads_are_certain(scored, 1, margin, np.zeros(2, np.uint64), NO_MOVES)
        assert (line - score <= margin) == (line - approximate <= margin)
    assert coded > 1000


def test_fingerprints_are_equal_if_all_weights_of_the_terms_are() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        weights = rng.integers(-1, 2, (6, 12)) * 0.1  # few values: many columns are equal somewhere
        count = int(rng.integers(0, 5))
        terms = rng.permutation(6)[:count].astype(np.int32)
        rows = Rows(np.array([0, count]), terms, np.ones(count))
        columns = rng.permutation(12)[:9].astype(np.int64)
        found = np.empty(12, np.uint64)
        fingerprints(rows, 0, weights.view(np.uint64), columns, found)
        for a in range(9):
            for b in range(9):
                same = weights[terms, columns[a]].tobytes() == weights[terms, columns[b]].tobytes()
                assert (found[a] == found[b]) == same
        labels, shard = np.sort(rng.permutation(24)[:5]).astype(np.int32), seed % 2
        marks = label_fingerprints(
            rows, np.array([0]), np.array([0, 5]), labels, weights.view(np.uint64), shard, 2
        )
        own = labels[labels % 2 == shard] // 2
        fingerprints(rows, 0, weights.view(np.uint64), own.astype(np.int64), found)
        assert marks.tolist() == found[: len(own)].tolist()


def test_a_topic_is_of_the_class_of_the_first_label_that_is_level() -> None:
    scores, marks = np.array([1.0, 2.0, 2.0, 2.0]), np.array([7, 7, 8, 8], np.uint64)
    cases = ((2.0, 8, 3), (2.0, 7, 2), (1.0, 8, 0), (1.0, 7, 1), (3.0, 7, 0))
    for score, mark, expected in cases:
        assert class_of(score, np.uint64(mark), scores, marks) == expected
    many = np.arange(300.0), np.zeros(300, np.uint64)
    assert class_of(float(MOST_CLASSES - 1), np.uint64(0), *many) == MOST_CLASSES
    assert class_of(float(MOST_CLASSES), np.uint64(0), *many) == 0


def test_moves_are_equal_if_all_updates_that_matter_are() -> None:
    """Sparse updates as chains and dense ones as rows, against lists of what happened."""
    equal = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        topics, lesson = 8, int(rng.integers(1, 7))
        is_dense = rng.random(lesson) < 0.4
        tau = (rng.integers(-1, 2, (lesson, topics)) / 2.0).astype(np.float64)
        products = np.zeros((lesson + 1, lesson + 1))
        products[lesson, :lesson] = rng.integers(0, 2, lesson)
        starts, entries = [0], list[tuple[int, float, int, int]]()
        last, dense = np.full(topics, -1, np.int64), DenseUpdates(np.full(lesson, -1), tau.copy())
        for i in range(lesson):
            for topic in np.flatnonzero(tau[i]):
                entries.append((int(topic), tau[i, topic], int(last[topic]), i))
                if not is_dense[i]:
                    last[topic] = len(entries) - 1
            dense.place[i] = i if is_dense[i] else -1
            starts.append(len(entries))
        table = np.array(entries).reshape(-1, 4).T
        updates = Updates(
            np.array(starts), table[0].astype(np.int32), np.ascontiguousarray(table[1]),
            table[2].astype(np.int64), table[3].astype(np.int32),
        )  # fmt: skip
        level = rng.integers(0, 2, topics).astype(np.uint8)
        nothing = np.zeros(topics)
        order = rng.permutation(topics).astype(np.int32)
        scored = Scored(order, nothing, nothing > 0, nothing, nothing > 0, level)
        moves = moves_by(lesson, products, updates, dense, last, scored)
        for a in range(topics):
            for b in range(topics):
                if level[a] and level[b]:
                    mattering = products[lesson, :lesson] != 0.0
                    same = np.array_equal(tau[mattering, order[a]], tau[mattering, order[b]])
                    assert (moves[a] == moves[b]) == same
                    equal += a != b and same
    assert equal > 100


def test_level_topics_are_certain_while_they_move_alike() -> None:
    scores, slack = np.array([1.0, 1.0, 1.0]), np.full(3, 1e-12)
    topics, history = np.arange(3, dtype=np.int32), np.array([1, 2, 3], np.uint64)
    no = np.zeros(3, np.bool_)

    def certain(level: list[int], moves: list[int]) -> bool:
        scored = Scored(topics, scores, no, slack, no, np.array(level, np.uint8))
        return bool(leads_are_certain(scored, 1, 0.0, history, np.array(moves, np.uint64)))

    assert certain([1, 1, 1], [5, 5, 5])
    assert not certain([1, 1, 1], [])
    assert not certain([1, 1, 1], [5, 5, 6])
    assert not certain([1, 1, 0], [5, 5, 5])
    assert not certain([1, 1, 2], [5, 5, 5])
    assert not certain([0, 0, 0], [5, 5, 5])
