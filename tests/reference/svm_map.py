"""SVM-map once more, in plain numpy: what rankings are worth, the worst of them, and the optimum.

Written from the paper (Yue, Finley, Radlinski and Joachims 2007) and its restatement alone. Nothing
of the greedy search of the paper is used: small queries are searched through all orders, larger
ones along all paths through the grid of (relevant placed, irrelevant placed), where H is a sum of
one term a step. The quadratic programme goes to a plain interior-point method, and its answer is
not believed but certified: the primal is measured at the weights with the search over all
rankings, the dual at multipliers that were made feasible, and the two must meet.

Where the paper leaves a choice open, this is how it is read here:

- A query without relevant items, or without others, has one ranking only up to equals: it teaches
  nothing and does not count in n.
- The pair loss is the share of (relevant, irrelevant) pairs that are the wrong way round.
- H is measured from the true ranking, so it is zero there, and the largest H is the slack.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Order = Sequence[int]
# A constraint: what w is multiplied with, Psi(true) - Psi(Y), and the loss of Y.
Plane = tuple[Floats, float]
# How close the bounds must be. With C = 1e5 and an objective of 0.01 rounding allows little more.
CLOSE = 1e-7


# What a ranking is worth


def average_precision(order: Order, relevant: Sequence[bool]) -> float:
    """The mean over relevant items of the share of relevant ones down to there."""
    shares, actual = [], 0
    for rank, item in enumerate(order, start=1):
        if relevant[item]:
            actual += 1
            shares.append(actual / rank)
    return math.fsum(shares) / len(shares)


def swapped_pairs(order: Order, relevant: Sequence[bool]) -> list[tuple[int, int]]:
    """Pairs of a relevant and an irrelevant item with the irrelevant one ranked before."""
    place = {item: rank for rank, item in enumerate(order)}
    return [(i, j) for i, j in pairs(relevant) if place[j] < place[i]]


def pairs(relevant: Sequence[bool]) -> list[tuple[int, int]]:
    """All pairs of a relevant and an irrelevant item."""
    items = range(len(relevant))
    return [(i, j) for i in items if relevant[i] for j in items if not relevant[j]]


def loss_of(order: Order, relevant: Sequence[bool], loss: str) -> float:
    """The loss of a ranking: `map` or `roc`."""
    if loss == "map":
        return 1.0 - average_precision(order, relevant)
    return len(swapped_pairs(order, relevant)) / len(pairs(relevant))


def joint(order: Order, relevant: Sequence[bool], features: Floats) -> Floats:
    """Psi of a ranking: the mean over pairs of Y_ij (phi_i - phi_j)."""
    place = {item: rank for rank, item in enumerate(order)}
    total = np.zeros(features.shape[1])
    for i, j in pairs(relevant):
        total += (1.0 if place[i] < place[j] else -1.0) * (features[i] - features[j])
    return total / len(pairs(relevant))


def violation(order: Order, scores: Sequence[float], relevant: Sequence[bool], loss: str) -> float:
    """H of a ranking, measured from the true one: its loss + w.Psi(Y) - w.Psi(true)."""
    gain = math.fsum(scores[j] - scores[i] for i, j in swapped_pairs(order, relevant))
    return loss_of(order, relevant, loss) + 2.0 * gain / len(pairs(relevant))


def ranked(scores: Sequence[float]) -> list[int]:
    """Items by falling score, equal ones as they are listed."""
    return sorted(range(len(scores)), key=lambda item: -scores[item])


# The most violated ranking


def interleavings(scores: Sequence[float], relevant: Sequence[bool]) -> Iterator[list[int]]:
    """All rankings that have the relevant items by falling score, and the others too."""
    order = ranked(scores)
    good = [item for item in order if relevant[item]]
    bad = [item for item in order if not relevant[item]]
    for places in combinations(range(len(order)), len(good)):
        mixed = list(bad)
        for place, item in zip(places, good, strict=True):
            mixed.insert(place, item)
        yield mixed


def worst_of_all(scores: Sequence[float], relevant: Sequence[bool], loss: str) -> float:
    """The largest H over every order there is."""
    orders = permutations(range(len(scores)))
    return max(violation(order, scores, relevant, loss) for order in orders)


def worst_interleaving(scores: Sequence[float], relevant: Sequence[bool], loss: str) -> float:
    """The largest H over the interleavings."""
    return max(violation(o, scores, relevant, loss) for o in interleavings(scores, relevant))


def worst_path(scores: Sequence[float], relevant: Sequence[bool], loss: str) -> list[int]:
    """The interleaving of the largest H, of any size.

    Place items from the top. The i-th relevant item, placed after j others, brings the loss of its
    precision i / (i + j) and of the j pairs that it is the wrong way round in. That is all of H, so
    the best way to have placed i and j items is the best of two shorter ways.
    """
    order = ranked(scores)
    good = [item for item in order if relevant[item]]
    bad = [item for item in order if not relevant[item]]
    above = np.concatenate([[0.0], np.cumsum([scores[item] for item in bad])])
    many = np.arange(len(bad) + 1)
    size = len(good) * len(bad)
    best, from_good = np.zeros(len(bad) + 1), []
    for i, item in enumerate(good, start=1):
        lost = (1.0 - i / (i + many)) / len(good) if loss == "map" else many / size
        reached = best + lost + 2.0 * (above - many * scores[item]) / size
        # Placing an irrelevant item brings nothing: the best so far along the row.
        best = np.maximum.accumulate(reached)
        from_good.append(reached >= best)
    backwards: list[int] = []
    j = len(bad)
    for i in range(len(good), 0, -1):
        while not from_good[i - 1][j]:
            j -= 1
            backwards.append(bad[j])
        backwards.append(good[i - 1])
    backwards += reversed(bad[:j])
    return backwards[::-1]


# Problems


@dataclass(frozen=True)
class Query:
    """The items of a query: a row of features each, and which of them are relevant."""

    features: Floats
    relevant: tuple[bool, ...]

    def teaches(self) -> bool:
        """Whether there is a pair to get wrong."""
        return len(set(self.relevant)) == 2

    def plane(self, order: Order, loss: str) -> Plane:
        """The constraint that a ranking makes."""
        true = sorted(range(len(self.relevant)), key=lambda item: not self.relevant[item])
        away = joint(true, self.relevant, self.features) - joint(
            order, self.relevant, self.features
        )
        return away, loss_of(order, self.relevant, loss)

    def true_plane(self) -> Plane:
        """The constraint of the true ranking: slack >= 0."""
        return np.zeros(self.features.shape[1]), 0.0

    def scores(self, weights: Floats) -> list[float]:
        """w . phi of each item."""
        return [float(score) for score in self.features @ weights]

    def slack(self, weights: Floats, loss: str) -> float:
        """The largest H at these weights."""
        scores = self.scores(weights)
        return violation(worst_path(scores, self.relevant, loss), scores, self.relevant, loss)


def thermometer(bins: Sequence[Sequence[int]], cuts: int) -> Floats:
    """For each function `cuts` features, of which the k-th is 1 where the bin is beyond it."""
    rows = [[float(held > k) for held in row for k in range(cuts)] for row in bins]
    return np.array(rows, dtype=np.float64)


def objective(queries: Sequence[Query], weights: Floats, cost: float, loss: str) -> float:
    """1/2 |w|^2 + C/n times the sum of the slacks."""
    slacks = [query.slack(weights, loss) for query in queries if query.teaches()]
    return 0.5 * math.fsum(weights**2) + cost * math.fsum(slacks) / len(slacks)


# The optimum


@dataclass(frozen=True)
class Optimum:
    """Weights, and two bounds on the smallest objective: no less than dual, no more than primal."""

    weights: Floats
    primal: float
    dual: float

    def gap(self) -> float:
        """How far the bounds are apart, relative to the primal."""
        return (self.primal - self.dual) / self.primal


def all_planes(query: Query, loss: str) -> list[Plane]:
    """The constraints of every order of a query, those that say the same once."""
    kept: dict[tuple[tuple[int, int], ...], Plane] = {}
    for order in permutations(range(len(query.relevant))):
        # The pairs say how many irrelevant items each relevant one is below, and so the loss too.
        wrong = tuple(swapped_pairs(order, query.relevant))
        if wrong not in kept:
            kept[wrong] = query.plane(order, loss)
    return list(kept.values())


def solve_each(queries: Sequence[Query], cost: float, loss: str) -> Optimum:
    """With a slack for each query, and all constraints there are. For tiny queries."""
    used = [query for query in queries if query.teaches()]
    groups = [all_planes(query, loss) for query in used]
    return certified(queries, cost, loss, groups, [cost / len(used)] * len(used))


def solve_one(queries: Sequence[Query], cost: float, loss: str) -> Optimum:
    """With one slack for all queries: a constraint for each way to rank every query."""
    used = [query for query in queries if query.teaches()]
    together = [
        (sum((p[0] for p in choice), np.zeros_like(choice[0][0])), sum(p[1] for p in choice))
        for choice in product(*(all_planes(query, loss) for query in used))
    ]
    group = [(away / len(used), lost / len(used)) for away, lost in together]
    return certified(queries, cost, loss, [group], [cost])


def solve_by_cutting(
    queries: Sequence[Query], cost: float, loss: str, gap: float = CLOSE
) -> Optimum:
    """With a slack for each query, and constraints that are added while they are violated."""
    used = [query for query in queries if query.teaches()]
    # The true ranking is a constraint too: it keeps the slack from falling below zero.
    groups = [[query.true_plane()] for query in used]
    for _ in range(1000):
        weights, dual = quadratic(groups, [cost / len(used)] * len(used))
        optimum = Optimum(weights, objective(used, weights, cost, loss), dual)
        if optimum.gap() <= gap:
            return optimum
        for query, group in zip(used, groups, strict=True):
            worst = query.plane(worst_path(query.scores(weights), query.relevant, loss), loss)
            if worst[1] - worst[0] @ weights > max(p[1] - p[0] @ weights for p in group) + 1e-13:
                group.append(worst)
    raise AssertionError(f"the reference itself did not converge: gap {optimum.gap()}")


def certified(
    queries: Sequence[Query],
    cost: float,
    loss: str,
    groups: Sequence[Sequence[Plane]],
    costs: Sequence[float],
) -> Optimum:
    """The optimum over these constraints, if it is proven to be one of the whole problem."""
    weights, dual = quadratic(groups, costs)
    optimum = Optimum(weights, objective(queries, weights, cost, loss), dual)
    if not -1e-12 <= optimum.gap() <= CLOSE:
        raise AssertionError(f"the reference itself did not converge: gap {optimum.gap()}")
    return optimum


def quadratic(groups: Sequence[Sequence[Plane]], costs: Sequence[float]) -> tuple[Floats, float]:
    """Minimise 1/2 |w|^2 + sum of cost * slack, with slack >= loss - w.away for each plane.

    Gives the weights and the dual at feasible multipliers, which no objective is below: none of
    them is negative, and their sum in a group is no more than its cost. Rounding makes the last
    steps of the iteration wander, so the best weights and the best multipliers of all are taken.
    """
    planes = [np.array([away for away, _ in group]) for group in groups]
    losses = [np.array([lost for _, lost in group]) for group in groups]
    width, priced = planes[0].shape[1], list(zip(planes, losses, costs, strict=True))

    def primal(weights: Floats) -> float:
        slacks = [cost * float((lost - away @ weights).max()) for away, lost, cost in priced]
        return 0.5 * float(weights @ weights) + math.fsum(slacks)

    def dual(multipliers: Floats) -> tuple[float, Floats]:
        weights, value, start = np.zeros(width), 0.0, 0
        for away, lost, cost in priced:
            share = np.maximum(multipliers[start : start + len(lost)], 0.0)
            share *= min(1.0, cost / share.sum())
            weights += away.T @ share
            value += float(lost @ share)
            start += len(lost)
        return value - 0.5 * float(weights @ weights), weights

    members = np.repeat(np.eye(len(groups)), [len(lost) for lost in losses], axis=0)
    A = np.hstack([np.vstack(planes), members])
    Q = np.diag([1.0] * width + [0.0] * len(groups))
    c = np.array([0.0] * width + list(costs))
    best, above, below = np.zeros(width), primal(np.zeros(width)), 0.0
    first = members @ (np.array(costs) / members.sum(axis=0))
    for x, z in interior_point(Q, c, A, np.concatenate(losses), first):
        value, of_multipliers = dual(z)
        below = max(below, value)
        for weights in (x[:width], of_multipliers):
            if primal(weights) < above:
                best, above = weights, primal(weights)
        if above - below <= 1e-13 * above:
            break
    return best, below


def interior_point(
    Q: Floats, c: Floats, A: Floats, b: Floats, first: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Ever better x and multipliers of: minimise 1/2 x'Qx + c'x, Ax >= b.

    A primal-dual interior-point method with a predictor and a corrector.
    """
    x, z = np.zeros(len(c)), first
    s = np.maximum(-b, 1.0)
    for _ in range(60):
        rests = (Q @ x + c - A.T @ z, A @ x - b - s)
        middle = float(s @ z) / len(b)
        normal = Q + (A.T * (z / s)) @ A
        _, ds, dz = newton(normal, A, rests, s, z, s * z)
        far_s, far_z = farthest(s, ds), farthest(z, dz)
        ahead = float((s + far_s * ds) @ (z + far_z * dz)) / len(b)
        centre = (ahead / middle) ** 3 * middle
        dx, ds, dz = newton(normal, A, rests, s, z, s * z + ds * dz - centre)
        length = 0.995 * min(farthest(s, ds), farthest(z, dz))
        x, s, z = x + length * dx, s + length * ds, z + length * dz
        yield x, z


def newton(
    normal: Floats,
    A: Floats,
    rests: tuple[Floats, Floats],
    s: Floats,
    z: Floats,
    products: Floats,
) -> tuple[Floats, Floats, Floats]:
    """The step in x, s and z that takes both rests and these products to zero, to first order."""
    dual_rest, primal_rest = rests
    dx = solved(normal, -dual_rest - A.T @ ((products + z * primal_rest) / s))
    ds = A @ dx + primal_rest
    return dx, ds, -(products + z * ds) / s


def farthest(values: Floats, change: Floats) -> float:
    """How much of a change leaves all values at or above zero, at most all of it."""
    falling = change < 0
    return min(1.0, float(np.min(-values[falling] / change[falling], initial=1.0)))


def solved(normal: Floats, right: Floats) -> Floats:
    """normal^-1 right, with what rounding took given back once."""
    scale = 1.0 / np.sqrt(np.diag(normal))
    scaled = normal * scale[:, None] * scale[None, :] + 1e-15 * np.eye(len(normal))
    x = scale * np.linalg.solve(scaled, scale * right)
    return np.asarray(x + scale * np.linalg.solve(scaled, scale * (right - normal @ x)))
