"""SVM-map against an independent reference: its search for the worst ranking."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from learners.svm_map.loss_augmented import LOSSES, ScoredQueries, Violations, search
from tests.reference.svm_map import (
    interleavings,
    joint,
    loss_of,
    ranked,
    violation,
    worst_interleaving,
    worst_of_all,
    worst_path,
)

both_losses = pytest.mark.parametrize("loss", ["map", "roc"])


class ScoredCase:
    """What the search says of one query."""

    def __init__(self, scores: Sequence[float], relevant: Sequence[bool], loss: str) -> None:
        shares, losses, slacks = (
            np.full(len(scores), np.nan),
            np.full(1, np.nan),
            np.full(1, np.nan),
        )
        starts = np.array([0, len(scores)])
        ones = np.ones(len(scores))
        queries = ScoredQueries(starts, np.array(relevant), np.array(scores), ones)
        search(queries, LOSSES[loss], Violations(shares, losses, slacks))
        self.shares, self.loss, self.slack = shares, float(losses[0]), float(slacks[0])

    def order(self, scores: Sequence[float], relevant: Sequence[bool]) -> list[int]:
        """The ranking that the shares stand for: they say how far down each relevant item is."""
        by_score = ranked(scores)
        good = [item for item in by_score if relevant[item]]
        order = [item for item in by_score if not relevant[item]]
        each = 2.0 / (len(good) * len(order))
        for placed, item in enumerate(good):
            order.insert(placed + round(float(self.shares[item]) / each), item)
        return order


def check_search(
    scores: Sequence[float], relevant: Sequence[bool], loss: str, worst: float
) -> list[int]:
    """The search found a ranking, says what it is worth, and none is worth more."""
    rounding = 1e-13 * (1.0 + max(abs(score) for score in scores))
    actual = ScoredCase(scores, relevant, loss)
    order = actual.order(scores, relevant)
    true = sorted(range(len(relevant)), key=lambda item: not relevant[item])
    plane = joint(true, relevant, np.eye(len(scores))) - joint(order, relevant, np.eye(len(scores)))
    assert actual.shares == pytest.approx(plane, abs=1e-12)
    assert actual.loss == pytest.approx(loss_of(order, relevant, loss), abs=1e-12)
    assert actual.slack == pytest.approx(violation(order, scores, relevant, loss), abs=rounding)
    assert actual.slack == pytest.approx(worst, abs=rounding), (scores, relevant)
    return order


def drawn(rng: random.Random, most: int) -> tuple[list[float], list[bool]]:
    """Scores and relevant items of one of many kinds."""
    count = rng.randint(2, most)
    size = 10.0 ** rng.choice([-300, -20, -6, -2, -1, -1, 0, 0, 0, 1, 3, 6, 12])
    kind = rng.choice(["free", "ties", "level", "signs", "near the margin"])
    draw: Callable[[], float] = {
        "free": lambda: size * rng.gauss(0.0, 1.0),
        "ties": lambda: size * rng.randint(-2, 2),
        "level": lambda: size,
        "signs": lambda: rng.choice([0.0, -0.0]),
        "near the margin": lambda: rng.choice([-0.5, 0.0, 0.5, 0.25, 1 / 6]),
    }[kind]
    good = rng.choice([1, count - 1, rng.randint(1, count - 1)])
    relevant = [True] * good + [False] * (count - good)
    rng.shuffle(relevant)
    return [draw() for _ in range(count)], relevant


@both_losses
def test_search_equals_brute_force_over_all_orders(loss: str) -> None:
    rng = random.Random(1)
    for _ in range(150):
        scores, relevant = drawn(rng, 6)
        check_search(scores, relevant, loss, worst_of_all(scores, relevant, loss))


@both_losses
def test_search_equals_brute_force_over_all_interleavings(loss: str) -> None:
    rng = random.Random(2)
    for _ in range(300):
        scores, relevant = drawn(rng, 9)
        check_search(scores, relevant, loss, worst_interleaving(scores, relevant, loss))


@both_losses
@pytest.mark.parametrize(
    ("good", "bad"), [(1, 600), (2, 118), (10, 500), (50, 60), (117, 3), (300, 1)]
)
def test_search_equals_the_best_path_of_large_queries(loss: str, good: int, bad: int) -> None:
    rng = random.Random(good)
    relevant = [True] * good + [False] * bad
    for size in (0.0, 1e-4, 0.01, 0.1, 1.0, 30.0):
        for ahead in (0.0, 0.5):
            scores = [size * (rng.gauss(0.0, 1.0) + ahead * is_good) for is_good in relevant]
            order = worst_path(scores, relevant, loss)
            check_search(scores, relevant, loss, violation(order, scores, relevant, loss))


@both_losses
def test_no_other_order_beats_the_search(loss: str) -> None:
    rng = random.Random(3)
    relevant = [True] * 8 + [False] * 40
    for size in (0.01, 0.1, 0.3, 1.0):
        scores = [size * rng.gauss(0.0, 1.0) for _ in relevant]
        worst = violation(worst_path(scores, relevant, loss), scores, relevant, loss)
        order = check_search(scores, relevant, loss, worst)
        for other in (*swapped(order), *shuffled(rng, scores, relevant, 1000)):
            assert violation(other, scores, relevant, loss) <= worst + 1e-12


def swapped(order: list[int]) -> Iterator[list[int]]:
    """The order with any two items changed."""
    for first in range(len(order)):
        for second in range(first):
            other = list(order)
            other[first], other[second] = other[second], other[first]
            yield other


def shuffled(
    rng: random.Random, scores: list[float], relevant: list[bool], count: int
) -> Iterator[list[int]]:
    """Random interleavings."""
    by_score = ranked(scores)
    for _ in range(count):
        kinds = rng.sample(relevant, len(relevant))
        good = iter([item for item in by_score if relevant[item]])
        bad = iter([item for item in by_score if not relevant[item]])
        yield [next(good if kind else bad) for kind in kinds]


@both_losses
def test_the_ways_of_the_reference_to_search_agree(loss: str) -> None:
    rng = random.Random(4)
    for _ in range(100):
        scores, relevant = drawn(rng, 6)
        rounding = 1e-13 * (1.0 + max(abs(score) for score in scores))
        worst = worst_of_all(scores, relevant, loss)
        order = worst_path(scores, relevant, loss)
        assert order in list(interleavings(scores, relevant))
        assert violation(order, scores, relevant, loss) == pytest.approx(worst, abs=rounding)
        assert worst_interleaving(scores, relevant, loss) == pytest.approx(worst, abs=rounding)
