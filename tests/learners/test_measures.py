"""Measures: by hand, against their definitions, and against scikit-learn's."""

from __future__ import annotations

import importlib.util
import math
import random

import numpy as np
import pytest

from learners.measures import MEASURES, measure_round
from learners.scores import UNRANKED, DenseScores
from learners.slow.measures import slow_measures
from tests.conftest import missing
from tests.support.random_streams import learned


def measured(
    scores: list[float], relevant: set[int], ranked: int | None = None
) -> dict[str, float]:
    """The measures of a ranking of the first `ranked` topics, of all by default."""
    values = np.empty(len(MEASURES))
    steps = learned([sorted(relevant)], len(scores), None if ranked is None else [ranked])
    places = DenseScores(np.array([scores])).places(steps)
    ranks = places.ranks[places.ranks != UNRANKED]
    measure_round(len(scores), ranks, places.above, int(places.hits[0]), values)
    return {
        name: value
        for name, value in zip(MEASURES, values.tolist(), strict=True)
        if not math.isnan(value)
    }


def test_by_hand() -> None:
    # Best first: topics 2, 0, 1, 3. Relevant: 0 (rank 2) and 3 (rank 4).
    # Wrong pairs: (0, 2), (3, 2), (3, 1): three of four.
    assert measured([3.0, 2.0, 4.0, 1.0], {0, 3}) == {
        "loss1": 1.0,
        "loss2": 3.0,
        "loss3": 0.75,
        "one_error": 1.0,
        "coverage": 3.0,
        "average_precision": (1 / 2 + 2 / 4) / 2,
        "r1": 0.0,
        "r5": 1.0,
        "mrr": 0.5,
    }


def test_a_tie_is_an_error_but_ranks_by_index() -> None:
    """All level: every pair is wrong, yet topic 0 is ranked first."""
    assert measured([0.0, 0.0, 0.0], {0}) == {
        "loss1": 1.0,
        "loss2": 2.0,
        "loss3": 1.0,
        "one_error": 0.0,
        "coverage": 0.0,
        "average_precision": 1.0,
        "r1": 1.0,
        "r5": 1.0,
        "mrr": 1.0,
    }


def test_no_relevant_topic_has_losses_of_zero_and_no_measures() -> None:
    assert measured([1.0, 2.0], set()) == {"loss1": 0.0, "loss2": 0.0, "loss3": 0.0}
    assert measured([], set()) == {"loss1": 0.0, "loss2": 0.0, "loss3": 0.0}


def test_all_topics_relevant_cannot_be_wrong() -> None:
    assert measured([1.0, 2.0, 2.0], {0, 1, 2}) == {
        "loss1": 0.0,
        "loss2": 0.0,
        "loss3": 0.0,
        "one_error": 0.0,
        "coverage": 2.0,
        "average_precision": 1.0,
        "r1": 1.0,
        "r5": 1.0,
        "mrr": 1.0,
    }


def test_an_empty_ranking_is_a_miss() -> None:
    """The first round with discovered topics: the losses know no irrelevant topic, hence 0."""
    assert measured([0.0, 0.0], {0, 1}, ranked=0) == {
        "loss1": 0.0,
        "loss2": 0.0,
        "loss3": 0.0,
        "one_error": 1.0,
        "coverage": 2.0,
        "average_precision": 0.0,
        "r1": 0.0,
        "r5": 0.0,
        "mrr": 0.0,
    }


def test_a_relevant_topic_that_the_ranking_lacks_is_a_miss() -> None:
    """The ranking is 1, 0. Topic 2 joins with the score 0, above both, but was not first then."""
    assert measured([-2.0, -1.0, 0.0], {0, 2}, ranked=2) == {
        "loss1": 1.0,
        "loss2": 1.0,
        "loss3": 0.5,
        "one_error": 1.0,
        "coverage": 3.0,
        "average_precision": (1 / 2 + 0) / 2,
        "r1": 0.0,
        "r5": 1.0,
        "mrr": 0.5,
    }


def test_an_irrelevant_topic_that_the_ranking_lacks_takes_no_place_in_it() -> None:
    """The ranking is 0 alone. Topic 1, which a later document brought, only counts as a pair."""
    assert measured([-1.0, 0.0], {0}, ranked=1) == {
        "loss1": 1.0,
        "loss2": 1.0,
        "loss3": 1.0,
        "one_error": 0.0,
        "coverage": 0.0,
        "average_precision": 1.0,
        "r1": 1.0,
        "r5": 1.0,
        "mrr": 1.0,
    }


def test_equals_the_definitions() -> None:
    rng = random.Random(0)
    for _ in range(4000):
        topics = rng.randrange(0, 12)
        ranked = rng.choice((topics, rng.randint(0, topics)))
        scores = [float(rng.randrange(-2, 3)) for _ in range(ranked)] + [0.0] * (topics - ranked)
        relevant = set(rng.sample(range(topics), k=rng.randrange(topics + 1)))
        assert measured(scores, relevant, ranked) == slow_measures(scores, relevant, ranked)


def test_agrees_with_scikit_learn() -> None:
    if importlib.util.find_spec("sklearn") is None:
        missing("scikit-learn", "pip install 'wirerank[experiments]'")
    from sklearn import metrics

    rng = np.random.default_rng(1)
    for _ in range(200):
        topics = int(rng.integers(2, 30))
        scores = rng.permutation(topics).astype(float)  # no ties: theirs are treated differently
        truth = np.zeros((1, topics), int)
        count = int(rng.integers(1, topics))
        relevant = set(rng.choice(topics, size=count, replace=False).tolist())
        truth[0, list(relevant)] = 1
        actual = measured(scores.tolist(), relevant)
        row = scores[None, :]
        assert actual["coverage"] == metrics.coverage_error(truth, row) - 1  # theirs counts from 1
        assert actual["loss3"] == pytest.approx(metrics.label_ranking_loss(truth, row))
        precision = metrics.label_ranking_average_precision_score(truth, row)
        assert actual["average_precision"] == pytest.approx(precision)
