"""Measures of predicted ranks: by their definitions, whatever the pieces."""

from __future__ import annotations

import math
import random
from itertools import combinations

import numpy as np
import pytest

from learners.ordinal import PRank
from learners.rank_measures import EXACT, RANKING_LOSS, RankWindow, tau_b
from learners.segment import Floats
from tests.learners.ranked_streams import labelled, papers_data, random_ranks

Pairs = list[tuple[int, int]]


def tau_by_definition(pairs: Pairs) -> float:
    ordered, told, to_tell = 0, 0, 0
    for (a, x), (b, y) in combinations(pairs, 2):
        ordered += ((a > b) - (a < b)) * ((x > y) - (x < y))
        told += a != b
        to_tell += x != y
    return ordered / math.sqrt(told * to_tell) if told and to_tell else math.nan


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


@pytest.mark.parametrize("length", [1, 7, 1000])
def test_window_holds_the_last_rounds_whatever_the_pieces(length: int) -> None:
    stream = random_ranks(1, 4, length=120)
    segment = stream.segment(0, len(stream.happenings))
    said: Floats = np.zeros((len(segment.rows), 2))
    PRank(ranks=4).follow(segment, said)
    pairs: Pairs = [
        (int(said[h.row, 0]), int(h.topics[0]))
        for h in stream.happenings
        if h.topics and int(h.topics[0]) <= 4
    ]
    whole, cut = RankWindow(4, length), RankWindow(4, length)
    measured = whole.follow(segment.steps, said)
    assert measured[:, RANKING_LOSS].tolist() == [abs(p - t) for p, t in pairs]
    assert measured[:, EXACT].tolist() == [p == t for p, t in pairs]
    assert whole.tau_b() == pytest.approx(tau_by_definition(pairs[-length:]), nan_ok=True)

    pieces = []
    for start in range(0, len(segment.steps), 13):
        pieces.append(cut.follow(segment.between(start, start + 13).steps, said))
        again = RankWindow(4, length)
        again.restore(cut.state())
        cut = again
    assert np.array_equal(np.concatenate(pieces), measured)
    assert cut.tau_b() == pytest.approx(whole.tau_b(), nan_ok=True)


def test_a_learner_that_learns_agrees_more_and_more() -> None:
    points, true = papers_data(seed=1, length=4000)
    segment = labelled(points, true)
    said = np.zeros((4000, 2))
    PRank(kernel="poly2", average=True, budget=4000).follow(segment, said)
    window = RankWindow(5, 500)
    window.follow(segment.between(0, 1000).steps, said)
    early = window.tau_b()
    window.follow(segment.between(1000, 8000).steps, said)
    assert early < 0.7 < window.tau_b()
