"""AROW with a smooth hinge: a round worked out by hand, and what its parts are for."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from learners.checks import InvalidArrayError
from learners.prototypes.soft_arow import SoftAROW, shortfall
from tests.learners.prototypes.test_arow import arrays_of, learn


def test_a_round_by_hand() -> None:
    learner = SoftAROW(rho=1.0, positive=3.0, bias=0.0, smooth=0.0)
    learn(learner, [{0: 1.0, 1: 1.0}], [[0]])
    state = arrays_of(learner)
    # All terms are new: noise 0.3 for topic 1, a third of it for topic 0. Spread 2, score 0.
    assert state["weights"][:2] == pytest.approx(np.array([[1 / 2.1, -1 / 2.3]] * 2))
    assert state["variances"][:2] == pytest.approx(np.array([[1.1 / 2.1, 1.3 / 2.3]] * 2))
    assert not state["weights"][2].any()
    assert state["seen"].tolist() == [1, 0]
    learn(learner, [{0: 1.0}], [[0]])
    # The second document of topic 0, half of whose uncertainty is gone.
    spread = 1.1 / 2.1
    noise = (3 - 2.7 * spread) / (3 * (0.2 + 0.8 / sqrt(2)))
    move = (1 - 1 / 2.1) / (spread + noise) * spread
    weights = arrays_of(learner)["weights"]
    assert weights[0, 0] == pytest.approx(1 / 2.1 + move)
    assert weights[1] == pytest.approx([1 / 2.1, -1 / 2.3])


def test_the_hinge_is_smooth_and_never_negative() -> None:
    assert shortfall(0.0, 0.1) == pytest.approx(0.1)
    assert shortfall(3.0, 0.0) == 3.0
    assert shortfall(-3.0, 0.0) == 0.0
    gaps = np.linspace(-50, 50, 1001)
    shorts = np.array([shortfall(gap, 0.1) for gap in gaps])
    assert (np.diff(shorts) > 0).all()
    assert (shorts > np.maximum(gaps, 0)).all()


def test_a_document_that_is_ranked_well_still_makes_its_words_certain() -> None:
    learner = SoftAROW(bias=0.0, smooth=0.0)
    learn(learner, [{0: 1.0}, {1: 1.0}], [[0], [1]])
    far = SoftAROW(bias=0.0, smooth=0.0)
    before = arrays_of(learner)
    far.restore({**before, "weights": 5.0 * before["weights"]})
    learn(far, [{0: 1.0}], [[0]])
    after = arrays_of(far)
    assert np.array_equal(after["weights"], 5.0 * before["weights"])
    assert (after["variances"][0] < before["variances"][0]).all()
    assert np.array_equal(after["variances"][1:], before["variances"][1:])


def test_topics_do_not_depend_on_each_other() -> None:
    """What a topic learns is the same, whatever the other topics of the documents are."""
    documents: list[dict[int, float]] = [{0: 1.0, 1: 0.5}, {1: 1.0}, {0: 0.3, 2: 1.0}] * 4
    one, other = SoftAROW(), SoftAROW()
    learn(one, documents, [[0], [1], [0]] * 4)
    learn(other, documents, [[0, 1], [], [0, 1]] * 4)
    for name, array in arrays_of(one).items():
        assert np.array_equal(array[..., 0], arrays_of(other)[name][..., 0]), name


@pytest.mark.parametrize("weight", [1e75, 1e160, 1e300, -1e300])
def test_huge_weights_stay_finite(weight: float) -> None:
    """A weight whose square is not a number of its own: as a damaged or foreign file could have."""
    learner = SoftAROW()
    learn(learner, [{0: 1.0}], [[0]])
    state = learner.state()
    learner.restore({**state, "weights": np.full_like(state["weights"], weight)})
    learn(learner, [{0: 1.0}, {0: 2.0}], [[0], []])
    assert all(np.isfinite(array).all() for array in learner.state().values())


@pytest.mark.parametrize("value", [1e-170, 1e-9, 1.0, 1e12])
@pytest.mark.parametrize("bias", [0.0, 0.35])
def test_variances_stay_positive_and_numbers_finite(value: float, bias: float) -> None:
    learner = SoftAROW(rho=1e-6, positive=1e6, bias=bias)
    for _ in range(50):
        learn(learner, [{0: value, 1: -value}, {0: value}, {}], [[0], [1], [0]])
    state = arrays_of(learner)
    assert (state["variances"][:2] > 0).all()
    assert (state["variances"] <= 1).all()
    assert (state["prior_variances"] > 0).all()
    assert all(np.isfinite(array).all() for array in state.values())


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        ([1.5, 0.0], "array seen has fractions, expected whole numbers"),
        ([-1.0, 0.0], "array seen has numbers from -1.0 to 0.0, expected 0 to inf"),
        ([1.0], "array seen has shape 1, expected 2"),
    ],
)
def test_counts_that_cannot_be_are_refused(seen: list[float], message: str) -> None:
    learner = SoftAROW()
    learn(learner, [{0: 1.0}], [[0]])
    before = arrays_of(learner)
    with pytest.raises(InvalidArrayError, match=message):
        learner.restore({**before, "seen": np.array(seen)})
    assert all(np.array_equal(before[name], array) for name, array in arrays_of(learner).items())
