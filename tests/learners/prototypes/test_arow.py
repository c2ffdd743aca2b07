"""AROW: a round worked out by hand, and what its variances are for."""

from __future__ import annotations

import numpy as np
import pytest

from learners.arrays import Floats
from learners.prototypes.arow import AROW
from learners.scores import DenseScores
from learners.segment import Rows, Segment, Steps
from tests.support.random_streams import learned


def arrays_of(learner: AROW) -> dict[str, Floats]:
    return {name: array.astype(np.float64) for name, array in learner.state().items()}


def learn(learner: AROW, documents: list[dict[int, float]], labels: list[list[int]]) -> None:
    rows = Rows(
        np.cumsum([0, *map(len, documents)]).astype(np.int64),
        np.array([term for document in documents for term in document], np.int32),
        np.array([value for document in documents for value in document.values()]),
    )
    learner.follow(Segment(rows, learned(labels, 2), 3, 2), learner.new_scores(len(documents), 2))


def test_two_rounds_by_hand() -> None:
    learner = AROW(rho=1.0, positive=2.0, bias=0.0)
    learn(learner, [{0: 1.0, 1: 1.0}], [[0]])
    state = arrays_of(learner)
    # Spread 2: topic 0 has noise 1/2 and takes 1 / 2.5, topic 1 has noise 1 and takes -1 / 3.
    assert state["weights"][:2] == pytest.approx(np.array([[0.4, -1 / 3]] * 2))
    assert state["variances"][:2] == pytest.approx(np.array([[0.6, 2 / 3]] * 2))
    assert not state["weights"][2].any()
    learn(learner, [{0: 2.0}], [[1]])
    # Topic 0 scores 0.8, is to be at -1 and has spread 2.4: -1.8 / 3.4 times 2 * 0.6.
    # Topic 1 scores -2/3, is to be at 1 and has spread 8/3: (5/3) / (19/6) times 2 * 2/3.
    weights = arrays_of(learner)["weights"]
    assert weights[0] == pytest.approx([0.4 - 1.8 / 3.4 * 1.2, -1 / 3 + 10 / 19 * 4 / 3])
    assert weights[1] == pytest.approx([0.4, -1 / 3])


def test_who_is_sure_enough_learns_nothing() -> None:
    learner = AROW(rho=0.001, positive=1.0, bias=0.0)
    for _ in range(30):
        learn(learner, [{0: 1.0, 1: 1.0}, {0: 1.0, 2: 1.0}], [[0], [1]])
    before = arrays_of(learner)
    far = AROW(rho=0.001, positive=1.0, bias=0.0)
    far.restore({**before, "weights": 2.0 * before["weights"]})
    learn(far, [{0: 1.0, 1: 1.0}], [[0]])
    assert np.array_equal(arrays_of(far)["variances"], before["variances"])


def test_words_that_came_often_move_less() -> None:
    learner = AROW(bias=0.0)
    learn(learner, [{0: 1.0}] * 20, [[0], [1]] * 10)
    before = arrays_of(learner)["weights"]
    learn(learner, [{0: 1.0, 1: 1.0}], [[0]])
    moved = np.abs(arrays_of(learner)["weights"] - before)
    assert (moved[1] > 5 * moved[0]).all()


def test_the_prior_is_what_a_topic_has_without_words() -> None:
    learner = AROW(bias=0.5)
    learn(learner, [{0: 1.0}, {1: 1.0}, {2: 1.0}], [[0], [0], [1]])
    nothing = DenseScores.new(1, 2)
    steps = learned([[]], 2)
    ranked = Steps(
        steps.row, ~steps.learn, steps.known, steps.label_starts, steps.labels, steps.ranked
    )
    empty = Rows(np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0))
    learner.follow(Segment(empty, ranked, 3, 2), nothing)
    assert nothing.matrix[0].tolist() == (0.5 * arrays_of(learner)["prior"]).tolist()
    assert nothing.matrix[0, 0] > nothing.matrix[0, 1]


@pytest.mark.parametrize("value", [1e-9, 1.0, 1e12])
def test_variances_stay_positive_and_numbers_finite(value: float) -> None:
    learner = AROW(rho=1e-6, positive=1e6)
    for _ in range(50):
        learn(learner, [{0: value, 1: -value}, {0: value}], [[0], [1]])
    state = arrays_of(learner)
    assert (state["variances"][:2] > 0).all()
    assert (state["prior_variances"] > 0).all()
    assert all(np.isfinite(array).all() for array in state.values())
