"""Pairs of topics: topics that go together make each other likely, as in the plain-Python twin."""

from __future__ import annotations

import numpy as np
import pytest

from learners.decisions.decided import CANDIDATES, Decisions
from learners.decisions.decider import Decider
from learners.decisions.goals import parse_goal
from learners.decisions.pairs import MOST_PAIRS, PAIR_COLUMNS, pair_count, slot_of
from learners.scores import DenseScores
from learners.segment import Steps
from learners.slow.decisions import SlowDecider, SlowDecision
from tests.learners.decisions.test_decider import plain


@pytest.mark.parametrize(("topics", "step"), [(30, 37), (300, 1)])
def test_pairs_that_share_a_weight_equal_those_of_the_twin(topics: int, step: int) -> None:
    """With more than 256 topics some pairs share a weight; these topics have large numbers."""
    rng = np.random.default_rng(topics)
    rows, per_row = 150, 12
    scores = np.full((rows, topics * step), -9.0)
    twin, expected = SlowDecider(parse_goal("micro"), 0.0), list[SlowDecision]()
    events, labels = list[tuple[int, bool]](), list[list[int]]()
    for row in range(rows):
        chosen = step * rng.choice(topics, per_row, replace=False)
        scores[row, chosen] = rng.normal(0.0, 1.0, per_row)
        order = np.argsort(-scores[row], kind="stable")[:CANDIDATES]
        expected.append(twin.decide(order.tolist(), scores[row][order].tolist()))
        relevant = chosen[scores[row, chosen] > rng.normal(0.5, 0.5, per_row)]
        labels += [[], sorted(relevant.tolist())]
        twin.learn(expected[-1], labels[-1])
        events += [(row, False), (row, True)]
    known = np.full(2 * rows, topics * step, np.int32)
    steps = Steps(
        np.array([row for row, _ in events], np.int32),
        np.array([learns for _, learns in events], np.bool_),
        known,
        np.cumsum([0, *map(len, labels)]).astype(np.int64),
        np.array([label for one in labels for label in one], np.int32),
        known,
    )
    made, decider = Decisions.new(rows), Decider(parse_goal("micro"), 0.0)
    decider.follow(steps, DenseScores(scores), made)
    assert [plain(one) for one in made.keep(range(rows))] == expected
    weights = decider.state()["pairs"][:, 0]
    used = {slot: weight for slot, (weight, _) in twin.pairs.items()}
    assert {slot: weights[slot] for slot in used} == used
    assert np.count_nonzero(weights) == len([weight for weight in used.values() if weight])


def test_the_first_topics_share_no_weight() -> None:
    for topics in (1, 2, 9, 200, 256):
        slots = {slot_of(a, b) for a in range(topics) for b in range(topics)}
        assert slots == set(range(0, PAIR_COLUMNS * pair_count(topics), PAIR_COLUMNS))
    assert pair_count(256) == pair_count(257) == MOST_PAIRS


def test_topics_that_go_together_make_each_other_likely() -> None:
    """A topic whose score says nothing is relevant just where another one is."""
    rng = np.random.default_rng(1)
    rows = 2000
    scores = rng.normal(0.0, 1.0, (rows, 6))
    relevant = rng.random((rows, 6)) < 1.0 / (1.0 + np.exp(2.0 - 3.0 * scores))
    relevant[:, 5] = relevant[:, 0]
    count = relevant.sum(1)
    known = np.full(2 * rows, 6, np.int32)
    steps = Steps(
        np.repeat(np.arange(rows, dtype=np.int32), 2),
        np.tile([False, True], rows),
        known,
        np.concatenate(([0], np.cumsum(np.column_stack((np.zeros(rows), count)).ravel()))).astype(
            np.int64
        ),
        np.nonzero(relevant)[1].astype(np.int32),
        known,
    )
    made = Decisions.new(rows)
    Decider(parse_goal("micro"), 0.0).follow(steps, DenseScores(scores), made)
    late = np.arange(rows) >= 1000
    sure = scores[:, 0] > 1.5  # the other topic is nearly certain
    never = scores[:, 0] < -1.5
    likely = np.where(made.topics == 5, made.probabilities, 0.0).sum(1)
    assert likely[late & sure].mean() > 0.8
    assert likely[late & never].mean() < 0.2
