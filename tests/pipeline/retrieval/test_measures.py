"""Measures of rankings, checked by hand and by brute force, and the signed-rank test."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from learners.arrays import Floats, Longs
from pipeline.retrieval.measures import (
    MEASURES,
    average_precision,
    average_precisions,
    counting_all,
    mean,
    measured,
    ndcg,
    precision,
    ranking,
)
from pipeline.retrieval.query_sets import QuerySet, known_grades
from pipeline.retrieval.signed_rank_test import signed_rank_test

NOT = float("nan")


def query_set(*queries: list[int], unseen: tuple[list[int], ...] = ()) -> QuerySet:
    """Queries with documents of these grades, and relevant documents that were not retrieved."""
    starts = np.concatenate(([0], np.cumsum([len(grades) for grades in queries])))
    grades = np.array([g for of_query in queries for g in of_query], np.int64)
    known = known_grades(starts, grades)
    known = tuple(
        np.sort(np.concatenate((of_query, np.array(more, np.int64))))[::-1]
        for of_query, more in zip(known, unseen or ([],) * len(known), strict=True)
    )
    names = tuple(str(q) for q in range(len(queries)))
    documents = tuple(f"d{i}" for i in range(len(grades)))
    values = np.zeros((len(grades), 1))
    return QuerySet(("f",), names, ("",) * len(names), starts, documents, grades, values, known)


def slow_average_precision(grades: Longs, relevant: int) -> float:
    total = 0.0
    for place in range(len(grades)):
        if grades[place] > 0:
            total += np.count_nonzero(grades[: place + 1] > 0) / (place + 1)
    return total / relevant


def test_by_hand() -> None:
    """Relevant at places 2 and 4 of five, one of them of grade 2, and a third never retrieved."""
    queries = query_set([0, 2, 0, 1, 0], unseen=([1],))
    scores = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    actual = dict(zip(MEASURES, measured(queries, scores)[0], strict=True))
    assert actual["ap"] == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert (actual["p@1"], actual["p@5"], actual["p@10"]) == (0.0, 2 / 5, 2 / 10)
    got = 3 / np.log2(3) + 1 / np.log2(5)
    best = 3 / np.log2(2) + 1 / np.log2(3) + 1 / np.log2(4)
    assert actual["ndcg@5"] == pytest.approx(got / best)
    assert actual["ndcg@1"] == 0.0


def test_against_brute_force() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        grades = rng.integers(0, 3, rng.integers(1, 9))
        if not (grades > 0).any():
            continue
        relevant = int((grades > 0).sum())
        assert average_precision(grades, relevant) == pytest.approx(
            slow_average_precision(grades, relevant)
        )


def test_the_best_of_all_rankings_has_an_ndcg_of_one() -> None:
    grades = np.array([0, 2, 1, 0, 1])
    known = np.array([2, 1, 1])
    actual = [ndcg(grades[list(order)], known, 3) for order in permutations(range(5))]
    assert max(actual) == pytest.approx(1.0)
    assert ndcg(grades[[1, 2, 4, 0, 3]], known, 3) == pytest.approx(1.0)
    assert sum(value > 1.0 - 1e-9 for value in actual) == 4  # the two 1s and the two 0s swap


def test_against_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(5)
    for _ in range(50):
        grades = rng.integers(0, 4, 12)
        grades[0] = 1
        scores = rng.normal(size=12)
        (actual,) = measured(query_set(grades.tolist()), scores)
        ap = metrics.average_precision_score(grades > 0, scores)
        gains = metrics.ndcg_score([2.0**grades - 1], [scores], k=5)
        assert actual[MEASURES.index("ap")] == pytest.approx(ap)
        assert actual[MEASURES.index("ndcg@5")] == pytest.approx(gains)


def test_ties_are_ranked_as_listed_and_what_has_no_score_is_not() -> None:
    assert ranking(np.array([1.0, 2.0, 1.0, NOT, 2.0])).tolist() == [1, 4, 0, 2]
    queries = query_set([1, 0, 1])
    assert average_precisions(queries, np.array([0.0, 0.0, NOT]))[0] == pytest.approx(1 / 2)


def test_places_beyond_the_depth_do_not_count() -> None:
    queries = query_set([0, 0, 1, 1])
    scores = np.array([4.0, 3.0, 2.0, 1.0])
    assert average_precisions(queries, scores, depth=3)[0] == pytest.approx(1 / 3 / 2)
    assert precision(np.array([0, 1]), 5) == 1 / 5


def test_queries_without_relevant_documents_are_left_out_or_count_as_nothing() -> None:
    values = average_precisions(query_set([1, 0], [0, 0]), np.array([1.0, 0.0, 1.0, 0.0]))
    assert np.isnan(values[1])
    assert mean(values) == 1.0
    assert counting_all(values) == 0.5
    assert np.isnan(mean(np.array([NOT])))


def exact_p(differences: Floats) -> float:
    """The exact p value, from all ways to give signs to the ranks."""
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    n = len(ranks)
    seen = abs(ranks[differences > 0].sum() - ranks[differences < 0].sum())
    extreme = 0
    for signs in range(1 << n):
        plus = sum(int(ranks[i]) for i in range(n) if signs >> i & 1)
        extreme += abs(2 * plus - int(ranks.sum())) >= seen
    return extreme / (1 << n)


def test_wilcoxon_of_few_queries_is_exact_and_drops_those_that_are_level() -> None:
    rng = np.random.default_rng(11)
    for _ in range(20):
        ours, others = rng.normal(0.3, 1, 9), rng.normal(size=9)
        actual = signed_rank_test(np.append(ours, 0.5), np.append(others, 0.5))
        assert actual.ties == 1
        assert actual.wins + actual.losses == 9
        assert actual.p == pytest.approx(exact_p(ours - others))


def test_nothing_but_level_queries_is_no_difference() -> None:
    assert signed_rank_test([0.5, NOT], [0.5, 0.1]) == (0, 0, 1, 1.0)
    assert not signed_rank_test([0.5], [0.5]).significant


def test_a_textbook_example() -> None:
    """The example of Wilcoxon (1945): cross- and self-fertilised plants, T = 24, n = 15."""
    differences = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    actual = signed_rank_test([float(d) for d in differences], [0.0] * 15)
    assert (actual.wins, actual.losses) == (13, 2)
    assert actual.p == pytest.approx(0.0413, abs=5e-5)
    assert actual.significant
