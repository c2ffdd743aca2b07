"""Curves of ordinal lanes: means of rounds, and tau-b of the last ones, whatever the pieces."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from learners.scores import RankScores
from learners.segment import Steps
from pipeline.curves.rank_curve import WINDOW, RankCurve
from pipeline.slow.topic_curve import slow_is_kept
from tests.learners.test_rank_measures import tau_by_definition
from tests.support.random_streams import learned

RANKS = 4


def rounds(seed: int, length: int) -> tuple[RankScores, Steps, list[tuple[int, int]]]:
    """What was said of so many rows, the steps that learn them, and the pairs of said and true."""
    rng = random.Random(seed)
    true = [rng.randrange(1, RANKS + 1) for _ in range(length)]
    predicted = [min(RANKS, max(1, rank + rng.randrange(-1, 2))) for rank in true]
    scores = RankScores(length)
    scores.matrix[:, 0] = predicted
    steps = learned([[rank - 1] for rank in true], RANKS)
    return scores, steps, list(zip(predicted, true, strict=True))


def followed(scores: RankScores, steps: Steps, cuts: list[int]) -> RankCurve:
    curve = RankCurve(RANKS)
    for start, stop in pairwise([0, *sorted(cuts), len(steps)]):
        curve.follow(steps.between(start, stop), scores)
        again = RankCurve(RANKS)
        again.restore(curve.state())
        curve = again
    return curve


def test_points_are_the_means_of_their_rounds() -> None:
    length = WINDOW + 700
    scores, steps, pairs = rounds(0, length)
    points = list(followed(scores, steps, [10, 11, 900]).all_points())
    assert [p.round for p in points] == [*filter(slow_is_kept, range(1, length)), length]
    for point in points[::40] + points[-1:]:
        so_far = pairs[: point.round]
        off = [abs(predicted - true) for predicted, true in so_far]
        assert point.values["ranking_loss"] == pytest.approx(sum(off) / len(off), rel=1e-12)
        assert point.values["hit_rate"] == pytest.approx(off.count(0) / len(off), rel=1e-12)
        tau = tau_by_definition(so_far[-WINDOW:])
        assert point.values["tau_b"] == (None if np.isnan(tau) else pytest.approx(tau))
        assert (point.first_hit, point.relevant) == so_far[-1]
        assert point.wrong_pairs == off[-1]


@pytest.mark.parametrize("seed", range(5))
def test_pieces_and_restarts_leave_no_trace(seed: int) -> None:
    rng = random.Random(seed)
    scores, steps, _ = rounds(seed, WINDOW + 300)
    whole = followed(scores, steps, []).state()
    cut = followed(scores, steps, [rng.randrange(len(steps)) for _ in range(9)]).state()
    for name, array in whole.items():
        assert array.tobytes() == cut[name].tobytes(), name


def test_rounds_are_compared_by_their_share_of_the_largest_loss() -> None:
    scores, steps, pairs = rounds(3, 50)
    curve = RankCurve(RANKS)
    measured = curve.follow(steps, scores)
    off = np.array([abs(predicted - true) for predicted, true in pairs])
    assert np.array_equal(measured[:, 0] * curve.spans[0], off)
    assert np.array_equal(measured[:, 2], off > 0)


def test_before_the_first_round_there_is_nothing() -> None:
    curve = RankCurve(RANKS)
    assert curve.last().values == dict.fromkeys(curve.measures)
    assert curve.derived() == {"miss_rate": None}
    assert list(curve.all_points()) == []
