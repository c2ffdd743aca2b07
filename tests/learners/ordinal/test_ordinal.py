"""Ordinal learners: equal to their twins and to a dense implementation, bounded, in order."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learners import MulticlassPerceptron, PRank, WidrowHoff
from learners.arrays import Floats
from learners.ordinal.base import OrdinalLearner
from learners.prototypes import support_set as support
from learners.scores import RANK, SCORE, RankScores
from learners.segment import Segment
from learners.slow.multiclass_perceptron import SlowMulticlassPerceptron
from learners.slow.ordinal import SlowOrdinal
from learners.slow.prank import SlowPRank
from learners.slow.widrow_hoff import SlowWidrowHoff
from tests.reference.dense_ordinal import Dense, products_of_two
from tests.support.ranked_streams import (
    Emitted,
    RankedStream,
    follow,
    labelled,
    papers_data,
    random_ranks,
)

Options = dict[str, Any]

KINDS: dict[str, tuple[Callable[..., OrdinalLearner], Callable[..., SlowOrdinal]]] = {
    "prank": (PRank, SlowPRank),
    "widrow-hoff": (WidrowHoff, SlowWidrowHoff),
    "multiclass-perceptron": (MulticlassPerceptron, SlowMulticlassPerceptron),
}
MODELS: list[Options] = [
    {},
    {"average": True},
    {"kernel": "poly2"},
    {"kernel": "poly2", "average": True},
    {"kernel": "poly2", "budget": 6},
    {"kernel": "poly2", "budget": 6, "average": True},
    {"kernel": "poly2", "budget": 1},
    {"kernel": "poly2", "budget": 1, "average": True},
]
every_kind = pytest.mark.parametrize("kind", KINDS)
every_model = pytest.mark.parametrize("options", MODELS, ids=str)


def options_for(seed: int, kind: str, options: Options) -> Options:
    rate = {"rate": (0.001, 0.1)[seed % 2]} if kind == "widrow-hoff" else {}
    return {"ranks": (2, 3, 5)[seed % 3], **rate, **options}


def twin_says(twin: SlowOrdinal, stream: RankedStream, first: int, last: int) -> Emitted:
    emitted = {}
    for happening in stream.happenings[first:last]:
        document = stream.documents[happening.row]
        if happening.topics is None:
            emitted[happening.row] = twin.rank(document)
        elif happening.topics:
            twin.learn(document, int(happening.topics[0]))
    return emitted


def some_cuts(rng: random.Random, first: int, last: int) -> list[int]:
    return [rng.randrange(first, last + 1) for _ in range(rng.randrange(9))]


def same_state(one: OrdinalLearner, other: OrdinalLearner) -> bool:
    left, right = one.state(), other.state()
    return left.keys() == right.keys() and all(np.array_equal(left[k], right[k]) for k in left)


@every_kind
@every_model
@pytest.mark.parametrize("whole_numbers", [False, True])
def test_learner_equals_its_twin(kind: str, options: Options, whole_numbers: bool) -> None:
    """However the stream is cut, when terms are forgotten on the way, and from a state."""
    make, make_twin = KINDS[kind]
    for seed in range(9):
        rng = random.Random(seed)
        chosen = options_for(seed, kind, options)
        stream = random_ranks(seed, chosen["ranks"], whole_numbers=whole_numbers)
        learner, twin = make(**chosen), make_twin(**chosen)
        end = len(stream.happenings)
        first, second = sorted(rng.randrange(1, end) for _ in range(2))
        predicted = follow(learner, stream, some_cuts(rng, 0, first), 0, first)
        assert predicted == twin_says(twin, stream, 0, first), seed

        # Forgotten terms come again, but as new ones.
        keep = [i for i in range(len(stream.features)) if rng.random() < 0.7]
        kept = [stream.features[i] for i in keep]
        gone = [feature for feature in stream.features if feature not in kept]
        learner.forget(np.array(keep, np.int64))
        twin.forget(set(gone))
        stream.features = kept + gone
        predicted = follow(learner, stream, some_cuts(rng, first, second), first, second)
        assert predicted == twin_says(twin, stream, first, second), seed

        restored = make(**chosen)
        restored.restore(learner.state())
        predicted = follow(restored, stream, some_cuts(rng, second, end), second, end)
        assert predicted == twin_says(twin, stream, second, end), seed
        follow(learner, stream, [], second, end)
        assert same_state(restored, learner), seed


@every_kind
@every_model
def test_room_and_pieces_change_nothing(
    kind: str, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = random_ranks(3, 5)
    whole, pieces = KINDS[kind][0](**options), KINDS[kind][0](**options)
    expected = follow(whole, stream, [])
    monkeypatch.setattr(support, "STEPS_AT_ONCE", 3)
    assert follow(pieces, stream, []) == expected
    assert same_state(whole, pieces)


@every_kind
@every_model
def test_state_is_a_copy_and_ranking_changes_nothing(kind: str, options: Options) -> None:
    stream = random_ranks(4, 5)
    learner = KINDS[kind][0](**options)
    follow(learner, stream, [])
    before = learner.state()
    for array in learner.state().values():
        array[...] = 77
    stream.happenings = [h for h in stream.happenings if h.topics is None]
    follow(learner, stream, [])
    after = learner.state()
    assert all(np.array_equal(before[key], after[key]) for key in before)


@every_kind
@every_model
def test_rows_that_are_only_learned_are_left_alone(kind: str, options: Options) -> None:
    stream = random_ranks(5, 5)
    stream.happenings = [h for h in stream.happenings if h.topics is not None]
    segment = stream.segment(0, len(stream.happenings))
    predicted = RankScores(len(segment.rows))
    predicted.matrix[:] = 3.25
    learner = KINDS[kind][0](**options)
    learner.follow(segment, predicted)
    assert (predicted.matrix == 3.25).all()
    rounds = [h for h in stream.happenings if h.topics and int(h.topics[0]) <= 5]
    assert learner.rounds == len(rounds) < len(stream.happenings)


steps = st.lists(
    st.tuples(
        st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0]), min_size=3, max_size=3),
        st.integers(1, 6),
    ),
    min_size=1,
    max_size=60,
)


@given(steps, st.integers(2, 6), st.sampled_from(MODELS))
def test_thresholds_stay_in_order(
    sequence: list[tuple[list[float], int]], ranks: int, options: Options
) -> None:
    learner = PRank(ranks=ranks, **options)
    for vector, rank in sequence:
        one = labelled(np.array([vector]), np.array([min(rank, ranks)], np.int32))
        learner.follow(one, RankScores(1))
        assert (np.diff(learner.thresholds) >= 0).all()
        state = learner.state()
        if "passed" in state:
            passed = np.asarray(state["passed"], float)
            assert (np.diff(passed - state.get("support_passed_before", 0.0)) >= 0).all()


def separable(seed: int, ranks: int) -> tuple[Segment, Floats, float]:
    """Documents that a hidden unit-norm rule ranks with a margin; their ranks and (R^2+1)/g^2."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=6)
    thresholds = np.sort(rng.normal(size=ranks - 1))
    norm = np.sqrt(direction @ direction + thresholds @ thresholds)
    direction, thresholds = direction / norm, thresholds / norm
    candidates = rng.normal(size=(4000, 6))
    distances = np.abs(candidates @ direction[:, None] - thresholds)
    vectors = candidates[distances.min(axis=1) > 0.05][:600]
    true = 1 + (vectors @ direction[:, None] >= thresholds).sum(axis=1)
    margin = np.abs(vectors @ direction[:, None] - thresholds).min()
    radius = np.linalg.norm(vectors, axis=1).max()
    segment = labelled(vectors, true.astype(np.int32))
    return segment, true.astype(float), float((radius**2 + 1) / margin**2)


@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("seed", range(6))
def test_summed_loss_is_within_the_papers_bound(seed: int, ranks: int) -> None:
    segment, true, ratio = separable(seed, ranks)
    learner = PRank(ranks=ranks)
    total, first, last = 0.0, 0.0, 0.0
    for epoch in range(100):
        predicted = RankScores(len(true))
        learner.follow(segment, predicted)
        last = np.abs(predicted.matrix[:, RANK] - true).sum()
        first = last if epoch == 0 else first
        total += last
        if last == 0:
            break
    assert 0 < total <= (ranks - 1) * ratio
    # Finitely many mistakes: the whole sequence is ranked without one in the end.
    assert last == 0 < first


@every_kind
@pytest.mark.parametrize("kernel", ["linear", "poly2"])
def test_equals_a_dense_implementation_on_the_papers_data(kind: str, kernel: str) -> None:
    """7,000 rounds, number by number; nothing is removed."""
    points, true = papers_data(seed=1)
    compare(points, true, kind, {"kernel": kernel, "budget": 7000})


@every_kind
@pytest.mark.parametrize("kernel", ["linear", "poly2"])
def test_mean_equals_the_mean_of_all_models(kind: str, kernel: str) -> None:
    points, true = papers_data(seed=2, length=1000)
    compare(points, true, kind, {"kernel": kernel, "average": True})


@every_kind
@pytest.mark.parametrize("average", [False, True])
def test_budget_equals_a_list_that_is_cut(kind: str, average: bool) -> None:
    points, true = papers_data(seed=3, length=1500)
    compare(points, true, kind, {"kernel": "poly2", "budget": 60, "average": average})


def compare(points: Floats, true: Any, kind: str, options: Options) -> None:  # noqa: ANN401
    rate = {"rate": 0.1} if kind == "widrow-hoff" else {}
    learner = KINDS[kind][0](**options, **rate)
    predicted = RankScores(len(points))
    learner.follow(labelled(points, true), predicted)

    poly2 = options["kernel"] == "poly2"
    vectors = products_of_two(points) if poly2 else points
    budget = options.get("budget") if poly2 else None
    average = options.get("average", False)
    dense = Dense(kind, 5, vectors.shape[1], **rate, budget=budget, average=average)
    expected = np.zeros_like(predicted.matrix)
    for i, x in enumerate(vectors):
        expected[i] = dense.predict(x)
        dense.learn(x, int(true[i]))
    assert np.array_equal(predicted.matrix[:, RANK], expected[:, RANK])
    np.testing.assert_allclose(predicted.matrix[:, SCORE], expected[:, SCORE], rtol=1e-9, atol=1e-9)
    if kind == "prank":
        assert np.array_equal(learner.thresholds, dense.b)


@every_kind
def test_learns_the_papers_data(kind: str) -> None:
    """With products of two features the ranks can be told apart, without them they cannot."""
    points, true = papers_data(seed=4)
    rate = {"rate": 0.1} if kind == "widrow-hoff" else {}
    losses = {}
    for kernel in ("linear", "poly2"):
        predicted = RankScores(len(points))
        KINDS[kind][0](kernel=kernel, average=True, budget=3000, **rate).follow(
            labelled(points, true), predicted
        )
        losses[kernel] = np.abs(predicted.matrix[:, RANK] - true)[-2000:].mean()
    assert losses["poly2"] < 0.6
    assert losses["linear"] > 0.9


@every_kind
@every_model
def test_numbers_stay_finite(kind: str, options: Options) -> None:
    """With the largest values that an event may have, and a rate that is far too large."""
    rng = np.random.default_rng(0)
    rate = {"rate": 1000.0} if kind == "widrow-hoff" else {}
    learner = KINDS[kind][0](**options, **rate)
    vectors = rng.choice([-1e75, -1e-75, 1.0, 1e75], size=(300, 20))
    predicted = RankScores(300)
    learner.follow(labelled(vectors, rng.integers(1, 6, 300).astype(np.int32)), predicted)
    assert np.isfinite(predicted.matrix).all()
    assert ((predicted.matrix[:, RANK] >= 1) & (predicted.matrix[:, RANK] <= 5)).all()
    assert all(np.isfinite(np.asarray(array, float)).all() for array in learner.state().values())


@pytest.mark.parametrize("average", [False, True])
def test_instances_stay_within_the_budget(average: bool) -> None:
    points, true = papers_data(seed=5, length=2000)
    learner = MulticlassPerceptron(kernel="poly2", budget=50, average=average)
    sizes = []
    for start in range(0, 2000, 100):
        some = slice(start, start + 100)
        learner.follow(labelled(points[some], true[some]), RankScores(100))
        kept = len(learner.state()["support_came"])
        assert kept <= (100 if average else 50)
        sizes.append(learner.size_bytes())
    assert len(set(sizes[-5:])) == 1


@every_kind
@pytest.mark.parametrize("average", [False, True])
def test_terms_together_are_the_score(kind: str, average: bool) -> None:
    stream = random_ranks(6, 5)
    learner = KINDS[kind][0](average=average)
    follow(learner, stream, [])
    segment = stream.segment(0, len(stream.happenings))
    terms, values = segment.rows.row(40)
    stream.happenings = [h for h in stream.happenings if h.topics is None]
    rank, score = follow(learner, stream, [])[40]
    added = learner.contributions(terms, values, np.array([rank - 1]))
    assert added is not None
    assert added.shape == (len(terms), 1)
    assert added.sum() == pytest.approx(score)


@every_kind
def test_no_term_explains_a_kernel(kind: str) -> None:
    learner = KINDS[kind][0](kernel="poly2")
    terms, topics = np.zeros(1, np.int32), np.zeros(1, np.int64)
    assert learner.contributions(terms, np.ones(1), topics) is None


@every_kind
def test_options_are_stored_under_their_own_names(kind: str) -> None:
    learner = KINDS[kind][0]()
    for option in learner.options:
        assert getattr(learner, option.name) == option.default
    assert learner.summary


def test_halves_are_rounded_up_and_ranks_are_clipped() -> None:
    learner = WidrowHoff(ranks=3, rate=1.0)
    cases = [(1, 1.5, 2), (1, 1.49, 1), (1, 7.0, 3), (1, -3.0, 1), (1, 1e19, 3), (1, -1e19, 1)]
    for rank, then, expected in cases:
        learner.restore({"rounds": np.array(0), "thresholds": np.zeros(0), "weights": np.zeros(1)})
        learner.follow(labelled(np.ones((1, 1)), np.array([rank], np.int32)), RankScores(1))
        predicted = RankScores(1)
        learner.follow(labelled(np.array([[then]]), np.array([rank], np.int32)), predicted)
        assert predicted.matrix[0].tolist() == [expected, then]
