"""Trains rankers on some queries and chooses their settings on others, alike for all methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Longs
from learners.svm_map.features import Items
from learners.svm_map.trainer import Queries
from pipeline.retrieval.features import Description, Form
from pipeline.retrieval.measures import DEPTH, average_precisions, mean
from pipeline.retrieval.normalisation import normalised
from pipeline.retrieval.query_sets import QuerySet
from pipeline.retrieval.ranker import Ranker
from pipeline.retrieval.trainers import COSTS, GAP, fitted

# The paper's bins, fewer bins for few documents, and a form that separates the first places.
FORMS = (Form("minmax", 50), Form("minmax", 10), Form("place", 0))
# Higher costs are tried until MAP is below 95 % of the best twice in a row.
WORSE, TIMES = 0.95, 2


@dataclass(frozen=True, slots=True)
class Split:
    """The queries that train, that choose settings and that are measured, by their numbers."""

    name: str
    train: Longs
    validation: Longs
    test: Longs


class Chosen(NamedTuple):
    """A ranker, and the settings that were chosen for it."""

    ranker: Ranker
    form: Form
    cost: float
    validated: float  # MAP on the validation queries


class ModelSelector:
    """Trains and chooses rankers on a query-document set; keeps what several methods need."""

    def __init__(self, queries: QuerySet, depth: int = DEPTH) -> None:
        self.queries = queries
        self.depth = depth
        self._values: dict[str, Floats] = {}
        self._singles: Floats | None = None
        self._searches: dict[tuple[str, bytes, bytes, Form, int], Chosen] = {}

    def values(self, how: str) -> Floats:
        """The normalised values of all documents."""
        if how not in self._values:
            self._values[how] = normalised(self.queries, how)
        return self._values[how]

    def rows(self, chosen: Longs) -> Longs:
        """The documents of these queries."""
        starts = self.queries.starts
        return np.concatenate([np.arange(starts[q], starts[q + 1]) for q in chosen])

    def problem(self, chosen: Longs, items: Items) -> Queries:
        """The training problem of these queries, whose documents are `items`."""
        lengths = self.queries.lengths[chosen]
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        return Queries(starts, self.queries.relevant[self.rows(chosen)], items)

    def singles(self) -> Floats:
        """The average precision of each function used alone (queries x functions)."""
        if self._singles is None:
            columns = self.queries.values.T
            precisions = [average_precisions(self.queries, c, self.depth) for c in columns]
            self._singles = np.array(precisions).T
        return self._singles

    def best_functions(self, train: Longs) -> Longs:
        """The functions by falling MAP on these queries; equal ones as listed."""
        means = [mean(column) for column in self.singles()[train].T]
        return np.argsort(-np.array(means), kind="stable")

    def chosen(
        self, machine: str, split: Split, forms: Sequence[Form] = FORMS, thin: int = 1
    ) -> Chosen:
        """The ranker with the form and the cost that are best on the validation queries.

        Of equal ones it is the first form and the smaller cost. Only every `thin`-th cost is tried.
        """
        every = [self._chosen(machine, split, form, thin) for form in forms]
        return max(every, key=lambda chosen: chosen.validated)

    def _chosen(self, machine: str, split: Split, form: Form, thin: int) -> Chosen:
        """The best ranker of one form; kept, because several methods may share a form."""
        key = (machine, split.train.tobytes(), split.validation.tobytes(), form, thin)
        if key not in self._searches:
            self._searches[key] = self._search(machine, split, form, thin)
        return self._searches[key]

    def _search(self, machine: str, split: Split, form: Form, thin: int) -> Chosen:
        validation = self.queries.select(split.validation)
        values = self.values(form.normalise)
        description = Description.fitted(form, values[self.rows(split.train)])
        problem = self.problem(split.train, description.items(values[self.rows(split.train)]))
        items = description.items(values[self.rows(split.validation)])
        best: Chosen | None = None
        worse = 0
        for cost in COSTS[machine][::thin]:
            weights = fitted(machine, problem, cost)
            validated = mean(average_precisions(validation, items.scores(weights), self.depth))
            if best is None or validated > best.validated:
                settings = {"machine": machine, "cost": cost, "gap": GAP}
                ranker = Ranker(self.queries.functions, description, weights, settings)
                best = Chosen(ranker, form, cost, validated)
            worse = worse + 1 if validated < WORSE * best.validated else 0
            if worse == TIMES:
                break
        assert best is not None  # noqa: S101 - there are costs
        return best

    def scored(self, chosen: Chosen, test: Longs) -> Floats:
        """The scores of the documents of these queries."""
        values = self.values(chosen.form.normalise)[self.rows(test)]
        return chosen.ranker.description.items(values).scores(chosen.ranker.weights)
