"""SVM-map: linear rankers trained for average precision by a structural SVM (Yue et al., 2007).

A query is a set of items, some of them relevant; items are ranked by their inner product with the
weights w. The feature map of a ranking is the mean of (relevant item - irrelevant item), with the
sign of their order, over all such pairs; so the right ranking has all relevant items on top.
Training minimises::

    |w|^2 / 2 + cost * mean over queries of max over rankings (loss(ranking) - lead(ranking))

where the lead is the score of the right ranking less the score of this ranking. The loss is
1 - average precision (`map`) or the share of misordered pairs (`roc`).

Cutting planes solve it: search the most violated ranking of every query, add it as a constraint,
find the best weights under all constraints so far, and repeat. The search is exact. So it yields
the primal of the weights, an upper bound of the optimum, and the dual of the constraints is a lower
bound. Training ends when the two are close.

Yue, Finley, Radlinski & Joachims: A Support Vector Method for Optimizing Average Precision.
SIGIR 2007.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from learners.arrays import Bools, Floats, Longs
from learners.svm_map.cutting_planes import CuttingPlanes, dot
from learners.svm_map.features import Items
from learners.svm_map.loss_augmented import LOSSES, ScoredQueries, Violations, search

SLACKS = ("one", "each")
MAX_SEARCHES = 20_000
FINER = 0.05  # the dual is solved to this part of the wanted gap
FINEST = 1e-9  # not closer, as rounding errors are of that size
NEAR = 0.1  # the second search of a turn is this far from the best weights to the newest ones


@dataclass(frozen=True, slots=True)
class Queries:
    """Queries and their items; query q has the items `starts[q]` up to `starts[q + 1]`."""

    starts: Longs
    relevant: Bools  # of each item
    items: Items
    weights: Floats | None = None  # how many irrelevant items each stands for; None: one

    def __len__(self) -> int:
        return len(self.starts) - 1

    def subset(self, chosen: Sequence[int] | Longs) -> Queries:
        """Return the chosen queries only, in the order of `chosen`."""
        chosen = np.asarray(chosen, np.int64)
        sizes = np.diff(self.starts)[chosen]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        places = np.repeat(self.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        weights = None if self.weights is None else self.weights[places]
        return Queries(starts, self.relevant[places], self.items.subset(places), weights)

    def informative(self) -> Longs:
        """Return the queries with both relevant and irrelevant items; others teach nothing."""
        before = np.concatenate(([0], np.cumsum(self.relevant)))
        relevant = np.diff(before[self.starts])
        return np.flatnonzero((relevant > 0) & (relevant < np.diff(self.starts)))


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of training: the optimum lies between the dual and the primal."""

    searches: int
    planes: int
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """The difference of the bounds, as a part of the primal."""
        return (self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class Trained:
    """The trained weights, with bounds of the optimum."""

    weights: Floats
    primal: float
    dual: float
    gap: float  # primal less dual, as a part of the primal
    planes: int  # number of constraints added
    searches: int
    converged: bool  # whether the gap is as small as wanted
    queries: int  # number of queries trained on


def train(
    queries: Queries,
    cost: float,
    loss: str = "map",
    slack: str = "one",
    gap: float = 1e-3,
    max_searches: int = MAX_SEARCHES,
    on_progress: Callable[[Progress], None] | None = None,
) -> Trained:
    """Train on queries until the gap is reached, or after `max_searches` searches.

    `slack="one"` adds one plane per search, the mean over all queries. `slack="each"`, the form of
    the paper, has a slack per query and adds a plane for every query that is violated. Both have
    the same optimum. Queries without relevant or without irrelevant items are ignored.

    Examples
    --------
    >>> from learners.svm_map.features import DenseItems
    >>> items = DenseItems(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
    >>> query = Queries(np.array([0, 3]), np.array([True, False, False]), items)
    >>> trained = train(query, cost=1.0)
    >>> items.scores(trained.weights).round(3)
    array([ 0.5, -0.5,  0. ])

    """
    if loss not in LOSSES:
        raise ValueError(f"The loss must be one of {', '.join(LOSSES)}. Got {loss!r}.")
    if slack not in SLACKS:
        raise ValueError(f"The slack must be one of {', '.join(SLACKS)}. Got {slack!r}.")
    if not cost > 0.0:
        raise ValueError(f"The cost must be above 0. Got {cost!r}.")
    informative = queries.informative()
    queries = queries if len(informative) == len(queries) else queries.subset(informative)
    if not len(queries):
        return Trained(np.zeros(queries.items.width), 0.0, 0.0, 0.0, 0, 0, True, 0)
    return Training(queries, cost, loss, slack, gap).run(max_searches, on_progress)


class Training:
    """One training: searches for violated rankings and solutions of the dual, in turn."""

    def __init__(self, queries: Queries, cost: float, loss: str, slack: str, gap: float) -> None:
        self.queries = queries
        self.cost = cost
        self.loss = LOSSES[loss]
        self.wanted_gap = gap
        self.slack_per_query = slack == "each"
        count = len(queries)
        groups = count if self.slack_per_query else 1
        self.planes = CuttingPlanes(queries.items.width, groups, cost / groups)
        self.slacks: Floats = np.zeros(groups)  # that the planes require
        self.weights: Floats = np.zeros(queries.items.width)  # the newest
        self.best_weights, self.primal, self.dual = self.weights, np.inf, 0.0
        self.searches = 0
        self.item_weights: Floats = (
            np.ones(len(queries.items)) if queries.weights is None else queries.weights
        )
        self.violations = Violations(  # of the last search
            np.zeros(len(queries.items)), np.zeros(count), np.zeros(count)
        )

    def run(self, max_searches: int, on_progress: Callable[[Progress], None] | None) -> Trained:
        """Train until the bounds are close."""
        converged, finer = False, FINER
        while self.searches < max_searches and finer > FINEST:
            self._search(self.weights)
            progress = Progress(self.searches, self.planes.added, self.primal, self.dual)
            if on_progress is not None:
                on_progress(progress)
            converged = progress.gap <= self.wanted_gap
            if converged:
                break
            added = self._add_planes()
            if self.best_weights is not self.weights and self.searches < max_searches:
                # The newest weights jump about. Planes found near the best weights cut off more:
                # with this second search, training needs several times fewer planes, and the gain
                # is larger for a higher cost.
                near = self.best_weights + NEAR * (self.weights - self.best_weights)
                self._search(near)
                added = self._add_planes() or added
            if not added:
                finer /= 10.0  # no plane is missing, so the dual was not solved closely enough
            tolerance = finer * self.wanted_gap * self.primal / self.cost
            self.weights, dual, self.slacks = self.planes.solve(tolerance)
            self.dual = max(self.dual, dual)
        last = Progress(self.searches, self.planes.added, self.primal, self.dual)
        return Trained(
            self.best_weights, self.primal, self.dual, last.gap, last.planes, self.searches,
            converged, len(self.queries),
        )  # fmt: skip

    def _search(self, weights: Floats) -> None:
        """Find the most violated rankings, and with them the primal of the weights."""
        queries = self.queries
        scores = queries.items.scores(weights)
        scored = ScoredQueries(queries.starts, queries.relevant, scores, self.item_weights)
        search(scored, self.loss, self.violations)
        self.searches += 1
        mean = float(np.add.reduce(self.violations.amounts)) / len(queries)
        primal = dot(weights, weights) / 2.0 + self.cost * mean
        if primal < self.primal:
            self.best_weights, self.primal = weights, primal

    def _add_planes(self) -> bool:
        """Add the planes of the last search; return False if none of them was violated enough."""
        count = len(self.queries)
        items, (shares, losses, amounts) = self.queries.items, self.violations
        if not self.slack_per_query:
            plane = items.weighted_sum(shares)
            self.planes.add(plane / count, float(np.add.reduce(losses)) / count)
            return True
        least = self.wanted_gap * self.primal / self.cost / 2.0
        violated = np.flatnonzero(amounts > self.slacks + least)
        for query in violated.tolist():
            start, stop = self.queries.starts[query : query + 2]
            plane = items.weighted_sum(shares, start, stop)
            self.planes.add(plane, float(losses[query]), query)
        return bool(len(violated))
