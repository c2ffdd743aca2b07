"""Rankers trained for average precision: structural SVMs by cutting planes (Yue et al., 2007).

A query is a set of items of which some are relevant; items are ranked by an inner product with
weights. The weights minimise half their squared length plus `cost` times the mean slack of the
queries, where the slack of a query is the largest sum, over all rankings of its items, of the loss
of the ranking and what its score is ahead of the right one's. Every search for these rankings is
exact, so what it finds gives an upper bound of the optimum (the primal of the weights), and the
dual of the planes so far gives a lower one. Training ends when they are close.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from learners.arrays import Bools, Floats, Longs
from learners.svm_map.cutting_planes import Planes, dot
from learners.svm_map.features import Items
from learners.svm_map.loss_augmented import LOSSES, search

SLACKS = ("one", "each")
MOST_SEARCHES = 20_000
FINER = 0.05  # the dual of the planes is solved to this part of the gap that is wanted
FINEST = 1e-9  # no closer: rounding would be in the way
NEAR = 0.1  # how far from the best weights towards the newest ones the second search of a turn is


@dataclass(frozen=True, slots=True)
class Queries:
    """Queries with their items: those of query q are the items `starts[q]` to `starts[q + 1]`."""

    starts: Longs
    relevant: Bools
    items: Items

    def __len__(self) -> int:
        return len(self.starts) - 1

    def some(self, chosen: Sequence[int] | Longs) -> Queries:
        """These queries alone, in this order."""
        chosen = np.asarray(chosen, np.int64)
        sizes = np.diff(self.starts)[chosen]
        starts = np.concatenate(([0], np.cumsum(sizes)))
        places = np.repeat(self.starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return Queries(starts, self.relevant[places], self.items.some(places))

    def telling(self) -> Longs:
        """The queries that can teach: some items are relevant, and some are not."""
        before = np.concatenate(([0], np.cumsum(self.relevant)))
        relevant = np.diff(before[self.starts])
        return np.flatnonzero((relevant > 0) & (relevant < np.diff(self.starts)))


@dataclass(frozen=True, slots=True)
class Progress:
    """Where training stands: the optimum lies between the dual and the primal."""

    searches: int
    planes: int
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """How far apart the bounds are, as a part of the primal."""
        return (self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class Trained:
    """The weights that training found, and how good they are sure to be."""

    weights: Floats
    primal: float
    dual: float
    gap: float  # between them, as a part of the primal
    planes: int  # constraints that were added
    searches: int
    converged: bool
    queries: int  # that taught


def train(
    queries: Queries,
    cost: float,
    loss: str = "map",
    slack: str = "one",
    gap: float = 1e-3,
    most: int = MOST_SEARCHES,
    say: Callable[[Progress], None] | None = None,
) -> Trained:
    """Train on queries until the gap is reached, or after `most` searches.

    `slack="one"` adds one plane a search, the mean over all queries; `"each"`, the form of the
    paper, has a slack for every query and adds a plane for each that is violated. Both have the
    same optimum. Queries whose items are all relevant, or none, teach nothing and are left out.
    """
    if loss not in LOSSES or slack not in SLACKS or not cost > 0.0:
        raise ValueError(f"no such training: loss={loss!r}, slack={slack!r}, cost={cost!r}")
    telling = queries.telling()
    queries = queries if len(telling) == len(queries) else queries.some(telling)
    if not len(queries):
        return Trained(np.zeros(queries.items.width), 0.0, 0.0, 0.0, 0, 0, True, 0)
    return Training(queries, cost, loss, slack, gap).run(most, say)


class Training:
    """Searches and solutions in turn."""

    def __init__(self, queries: Queries, cost: float, loss: str, slack: str, gap: float) -> None:
        self.queries = queries
        self.cost = cost
        self.loss = LOSSES[loss]
        self.wanted = gap
        count = len(queries)
        self.each = slack == "each"
        groups = count if self.each else 1
        self.planes = Planes(queries.items.width, groups, cost / groups)
        self.slacks: Floats = np.zeros(groups)  # that the planes ask for
        self.weights: Floats = np.zeros(queries.items.width)
        self.best, self.primal, self.dual = self.weights, np.inf, 0.0
        self.searches = 0
        # Of the last search:
        self.shares: Floats = np.zeros(len(queries.items))
        self.losses, self.violations = np.zeros(count), np.zeros(count)

    def run(self, most: int, say: Callable[[Progress], None] | None) -> Trained:
        """Until the bounds are close."""
        converged, finer = False, FINER
        while self.searches < most and finer > FINEST:
            self._search(self.weights)
            progress = Progress(self.searches, self.planes.added, self.primal, self.dual)
            if say is not None:
                say(progress)
            converged = progress.gap <= self.wanted
            if converged:
                break
            found = self._add()
            if self.best is not self.weights and self.searches < most:
                # The newest weights jump about. What is violated near the best ones cuts more off:
                # with this search there are several times fewer of them, the higher the cost is.
                self._search(self.best + NEAR * (self.weights - self.best))
                found = self._add() or found
            if not found:
                finer /= 10.0  # the planes have it all, but were not solved closely enough
            close = finer * self.wanted * self.primal / self.cost
            self.weights, dual, self.slacks = self.planes.solve(close)
            self.dual = max(self.dual, dual)
        last = Progress(self.searches, self.planes.added, self.primal, self.dual)
        return Trained(
            self.best, self.primal, self.dual, last.gap, last.planes, self.searches, converged,
            len(self.queries),
        )  # fmt: skip

    def _search(self, weights: Floats) -> None:
        """Find the most violated rankings, and with them the primal of the weights."""
        queries = self.queries
        search(
            queries.starts, queries.relevant, queries.items.scores(weights), self.loss,
            self.shares, self.losses, self.violations,
        )  # fmt: skip
        self.searches += 1
        mean = float(np.add.reduce(self.violations)) / len(queries)
        primal = dot(weights, weights) / 2.0 + self.cost * mean
        if primal < self.primal:
            self.best, self.primal = weights, primal

    def _add(self) -> bool:
        """Add what was found to the planes; False if they have it all already."""
        count = len(self.queries)
        if not self.each:
            plane = self.queries.items.gathered(self.shares)
            self.planes.add(plane / count, float(np.add.reduce(self.losses)) / count)
            return True
        least = self.wanted * self.primal / self.cost / 2.0
        found = np.flatnonzero(self.violations > self.slacks + least)
        for query in found.tolist():
            start, stop = self.queries.starts[query : query + 2]
            plane = self.queries.items.gathered(self.shares, start, stop)
            self.planes.add(plane, float(self.losses[query]), query)
        return bool(len(found))
