"""SVM-map against an independent reference: the optimum that training reaches."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest

from learners.svm_map.features import BinnedItems, DenseItems, Items
from learners.svm_map.trainer import Progress, Queries, Trained, train
from tests.reference.svm_map import (
    CLOSE,
    Floats,
    Query,
    loss_of,
    objective,
    ranked,
    solve_by_cutting,
    solve_each,
    solve_one,
    thermometer,
)

COSTS = [10.0**power for power in range(-3, 6)]
FINE = 1e-6  # the gap that training is asked for where the reference is at hand
both_losses = pytest.mark.parametrize("loss", ["map", "roc"])
both_slacks = pytest.mark.parametrize("slack", ["one", "each"])


def make_query(rng: random.Random, sizes: tuple[int, int], width: int, kind: str) -> Query:
    """Items whose features say a little of their relevance."""
    relevant = [True] * sizes[0] + [False] * sizes[1]
    rng.shuffle(relevant)
    if kind == "bins":
        bins = [[min(4, rng.randint(0, 3) + r) for _ in range(width)] for r in relevant]
        return Query(thermometer(bins, 4), tuple(relevant))
    draw: Callable[[int], float] = {
        "normal": lambda r: rng.gauss(0.7 * r, 1.0),
        "whole": lambda r: float(rng.randint(-1, 1) + r),
        "level": lambda _: 1.0,
        "apart": lambda r: 2.0 * r + rng.random(),
    }[kind]
    rows = [[draw(r) for _ in range(width)] for r in relevant]
    return Query(np.array(rows), tuple(relevant))


def small_problems(seed: int) -> Iterator[list[Query]]:
    """Problems whose constraints can all be written down."""
    rng = random.Random(seed)
    shapes = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)]
    for kind in ("normal", "whole", "level", "apart", "bins"):
        count, width = rng.randint(1, 3), rng.randint(1, 4)
        yield [make_query(rng, rng.choice(shapes), width, kind) for _ in range(count)]


def as_queries(problem: Sequence[Query], items: Items | None = None) -> Queries:
    """A problem as training takes it."""
    sizes = [len(query.relevant) for query in problem]
    relevant = [is_relevant for query in problem for is_relevant in query.relevant]
    features = np.concatenate([query.features for query in problem])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Queries(starts, np.array(relevant), items or DenseItems(features))


@both_losses
@pytest.mark.parametrize("cost", COSTS)
def test_the_ways_of_the_reference_to_solve_agree(loss: str, cost: float) -> None:
    for problem in small_problems(round(1000 * cost)):
        each = solve_each(problem, cost, loss).primal
        assert solve_one(problem, cost, loss).primal == pytest.approx(each, rel=2 * CLOSE)
        assert solve_by_cutting(problem, cost, loss).primal == pytest.approx(each, rel=2 * CLOSE)


def check_bounds(trained: Trained, problem: Sequence[Query], cost: float, loss: str) -> None:
    """What training says of its weights is so."""
    measured = objective(problem, trained.weights, cost, loss)
    largest = max(float(np.abs(q.features @ trained.weights).max()) for q in problem)
    rounding = 1e-13 * (trained.primal + cost * (1.0 + largest))
    assert trained.primal == pytest.approx(measured, abs=rounding)
    assert trained.dual <= trained.primal + rounding
    assert trained.gap == pytest.approx((trained.primal - trained.dual) / trained.primal)


def check_optimum(
    trained: Trained, problem: Sequence[Query], cost: float, loss: str, best: tuple[float, Floats]
) -> None:
    """Training ended at the optimum, as near to it as it was asked to."""
    check_bounds(trained, problem, cost, loss)
    value, weights = best
    near = 2 * CLOSE * value
    assert trained.converged
    assert trained.gap <= FINE
    assert trained.dual <= value + near
    assert value - near <= trained.primal <= value * (1 + FINE) + near
    # The objective is strongly convex, so its value says how near the weights are.
    away = float(np.linalg.norm(trained.weights - weights))
    assert away <= 2 * math.sqrt(2 * (FINE * value + near))


@both_losses
@both_slacks
@pytest.mark.parametrize("cost", COSTS)
def test_training_reaches_the_optimum_over_all_constraints(
    loss: str, slack: str, cost: float
) -> None:
    for problem in small_problems(round(1000 * cost) + 1):
        best = solve_each(problem, cost, loss)
        trained = train(as_queries(problem), cost, loss, slack, FINE)
        check_optimum(trained, problem, cost, loss, (best.primal, best.weights))


@both_losses
@both_slacks
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize(("width", "kind"), [(5, "normal"), (30, "normal"), (6, "bins")])
def test_training_reaches_the_optimum_of_larger_problems(
    loss: str, slack: str, cost: float, width: int, kind: str
) -> None:
    rng = random.Random(width)
    shapes = [(1, 19), (3, 9), (4, 16), (8, 8), (12, 2)]
    problem = [make_query(rng, shape, width, kind) for shape in shapes]
    best = solve_by_cutting(problem, cost, loss)
    trained = train(as_queries(problem), cost, loss, slack, FINE)
    check_optimum(trained, problem, cost, loss, (best.primal, best.weights))


@both_losses
@both_slacks
@pytest.mark.parametrize("scale", [30.0, 1000.0])
def test_features_on_any_scale_are_learned(loss: str, slack: str, scale: float) -> None:
    """Long planes that are nearly alike: steps of two multipliers alone would take for ever."""
    rng = random.Random(5)
    problem = [make_query(rng, shape, 5, "normal") for shape in [(4, 8)] * 5]
    queries = as_queries([Query(query.features * scale, query.relevant) for query in problem])
    trained = train(queries, 1e5, loss, slack, max_searches=400)
    assert trained.converged
    as_given = train(as_queries(problem), 1e5 * scale**2, loss, slack, max_searches=400)
    ratio = as_given.primal / trained.primal
    assert ratio == pytest.approx(scale**2, rel=3e-3)  # the same problem in other units


@both_slacks
@pytest.mark.parametrize("cost", [10.0, 1359.77, 1e5])
def test_training_ends_at_its_gap_where_the_first_weights_are_far_too_dear(
    slack: str, cost: float
) -> None:
    # At zero weights the objective is the cost, and 1/8 at the optimum: what is near enough must
    # not be measured by the former.
    features = [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
    problem = [Query(np.array(features), (False, True, False, True, True))]
    trained = train(as_queries(problem), cost, "roc", slack)
    assert trained.converged
    assert trained.primal == pytest.approx(0.125, rel=2e-3)


@both_slacks
@pytest.mark.parametrize(("loss", "lost"), [("map", 0.5), ("roc", 1.0)])
@pytest.mark.parametrize("cost", [0.01, 0.1, 0.2, 1.0, 1e5])
def test_training_of_two_items_on_paper(loss: str, lost: float, slack: str, cost: float) -> None:
    # The one wrong ranking has this loss, and is 2w behind: w is lost / 2 unless that costs more.
    problem = [Query(np.array([[0.0], [1.0]]), (False, True))]
    trained = train(as_queries(problem), cost, loss, slack, 1e-9)
    weight = min(lost / 2, 2 * cost)
    assert trained.weights == pytest.approx([weight])
    assert trained.primal == pytest.approx(weight**2 / 2 + cost * (lost - 2 * weight))
    assert trained.dual == pytest.approx(trained.primal)


# What must not matter, and what must hold


def mixed_problem(seed: int) -> list[Query]:
    rng = random.Random(seed)
    shapes = [(1, 30), (5, 20), (10, 10), (2, 50)]
    return [make_query(rng, shape, 6, "normal") for shape in shapes]


@both_losses
@both_slacks
def test_bounds_close_in_on_each_other(loss: str, slack: str) -> None:
    problem, seen = mixed_problem(1), list[Progress]()
    trained = train(as_queries(problem), 10.0, loss, slack, 1e-5, on_progress=seen.append)
    assert trained.converged
    assert seen[-1].searches == trained.searches
    for before, after in pairwise(seen):
        assert before.dual <= after.dual <= after.primal <= before.primal
        assert before.searches < after.searches
    check_bounds(trained, problem, 10.0, loss)


@both_losses
@both_slacks
@pytest.mark.parametrize("most", [1, 2, 5])
def test_training_that_was_cut_short_says_so(loss: str, slack: str, most: int) -> None:
    problem = mixed_problem(2)
    trained = train(as_queries(problem), 10.0, loss, slack, 1e-9, max_searches=most)
    assert not trained.converged
    assert most <= trained.searches <= most + 1  # a turn of two searches is not cut in half
    assert trained.gap > 1e-9
    check_bounds(trained, problem, 10.0, loss)


@both_losses
@both_slacks
def test_training_twice_gives_the_same_bits(loss: str, slack: str) -> None:
    first, second = (train(as_queries(mixed_problem(3)), 3.0, loss, slack) for _ in range(2))
    assert first.weights.tobytes() == second.weights.tobytes()
    assert (first.primal, first.dual) == (second.primal, second.dual)
    assert (first.planes, first.searches) == (second.planes, second.searches)


@both_losses
@both_slacks
def test_neither_the_order_of_queries_nor_that_of_items_matters(loss: str, slack: str) -> None:
    rng = random.Random(4)
    problem = mixed_problem(4)
    expected = train(as_queries(problem), 3.0, loss, slack, FINE)
    others = []
    for query in rng.sample(problem, len(problem)):
        places = rng.sample(range(len(query.relevant)), len(query.relevant))
        relevant = tuple(query.relevant[place] for place in places)
        others.append(Query(query.features[places], relevant))
    trained = train(as_queries(others), 3.0, loss, slack, FINE)
    check_optimum(trained, problem, 3.0, loss, (expected.primal, expected.weights))


@both_losses
@both_slacks
def test_a_query_that_cannot_teach_changes_nothing(loss: str, slack: str) -> None:
    rng = random.Random(5)
    problem = mixed_problem(5)
    expected = train(as_queries(problem), 3.0, loss, slack)
    none, every = (make_query(rng, sizes, 6, "normal") for sizes in [(0, 7), (7, 0)])
    nothing = Query(np.zeros((0, 6)), ())
    with_others = [none, *problem[:2], every, nothing, *problem[2:], none]
    trained = train(as_queries(with_others), 3.0, loss, slack)
    assert trained.weights.tobytes() == expected.weights.tobytes()
    assert (trained.primal, trained.dual) == (expected.primal, expected.dual)
    assert trained.queries == expected.queries == len(problem)


@both_losses
@both_slacks
@pytest.mark.parametrize("short", [True, False])
def test_bins_are_the_thermometer_features(loss: str, slack: str, short: bool) -> None:
    rng = np.random.default_rng(6)
    bins, cuts = rng.integers(0, 8, (60, 3)), 7
    features = thermometer(bins.tolist(), cuts)
    relevant = (rng.random(60) < 0.1 + 0.1 * bins[:, 0]).tolist()
    problem = [
        Query(features[start : start + 20], tuple(relevant[start : start + 20]))
        for start in (0, 20, 40)
    ]
    binned = BinnedItems(bins.astype(np.uint8) if short else bins.astype(np.uint16), cuts)
    assert binned.width == features.shape[1]
    weights, shares = rng.normal(size=21), rng.normal(size=60)
    assert binned.scores(weights) == pytest.approx(features @ weights)
    assert binned.weighted_sum(shares) == pytest.approx(features.T @ shares)
    best = solve_by_cutting(problem, 5.0, loss)
    for items in (binned, DenseItems(features)):
        trained = train(as_queries(problem, items), 5.0, loss, slack, FINE)
        check_optimum(trained, problem, 5.0, loss, (best.primal, best.weights))


@both_losses
@pytest.mark.parametrize("cost", [0.1, 1.0, 100.0])
def test_slacks_bound_the_loss_of_the_trained_ranking(loss: str, cost: float) -> None:
    problem = mixed_problem(7)
    trained = train(as_queries(problem), cost, loss)
    slacks = trained.primal - 0.5 * float(trained.weights @ trained.weights)
    lost = [loss_of(ranked(q.scores(trained.weights)), q.relevant, loss) for q in problem]
    assert cost * sum(lost) / len(lost) <= slacks + 1e-12
