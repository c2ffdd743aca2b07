"""Trains on some queries and chooses settings on others: what every method is allowed alike."""

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

# The paper's bins, fewer of them for few documents, and what tells all first places apart.
FORMS = (Form("minmax", 50), Form("minmax", 10), Form("place", 0))
WORSE, TIMES = 0.95, 2  # costs are raised until results fall so far short of the best, so often


@dataclass(frozen=True, slots=True)
class Split:
    """Which queries train, which choose and which are measured, by their places."""

    name: str
    train: Longs
    validation: Longs
    test: Longs


class Chosen(NamedTuple):
    """A ranker with what was chosen for it."""

    ranker: Ranker
    form: Form
    cost: float
    validated: float  # MAP on the validation queries


class ModelSelector:
    """A query-document set whose values are normalised once in every way that is asked for."""

    def __init__(self, queries: QuerySet, depth: int = DEPTH) -> None:
        self.queries = queries
        self.depth = depth
        self._values: dict[str, Floats] = {}
        self._singles: Floats | None = None
        self._found: dict[tuple[str, bytes, bytes, Form, int], Chosen] = {}

    def values(self, how: str) -> Floats:
        """The values of all documents, normalised."""
        if how not in self._values:
            self._values[how] = normalised(self.queries, how)
        return self._values[how]

    def rows(self, chosen: Longs) -> Longs:
        """The documents of these queries."""
        starts = self.queries.starts
        return np.concatenate([np.arange(starts[q], starts[q + 1]) for q in chosen])

    def problem(self, chosen: Longs, items: Items) -> Queries:
        """What is trained on: these queries, described by `items`."""
        lengths = self.queries.lengths[chosen]
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        return Queries(starts, self.queries.relevant[self.rows(chosen)], items)

    def singles(self) -> Floats:
        """The average precision of every function alone (queries x functions)."""
        if self._singles is None:
            columns = self.queries.values.T
            found = [average_precisions(self.queries, c, self.depth) for c in columns]
            self._singles = np.array(found).T
        return self._singles

    def best_functions(self, train: Longs) -> Longs:
        """The functions by falling MAP on these queries; of equals the first."""
        means = [mean(column) for column in self.singles()[train].T]
        return np.argsort(-np.array(means), kind="stable")

    def chosen(
        self, machine: str, split: Split, forms: Sequence[Form] = FORMS, thin: int = 1
    ) -> Chosen:
        """The ranker of the form and the cost that do best on the validation queries.

        Of equals the first form and the smaller cost; `thin` takes every so many-th cost.
        """
        every = [self._chosen(machine, split, form, thin) for form in forms]
        return max(every, key=lambda chosen: chosen.validated)

    def _chosen(self, machine: str, split: Split, form: Form, thin: int) -> Chosen:
        """The same of one form; kept, as rows of a table may have forms in common."""
        key = (machine, split.train.tobytes(), split.validation.tobytes(), form, thin)
        if key not in self._found:
            self._found[key] = self._searched(machine, split, form, thin)
        return self._found[key]

    def _searched(self, machine: str, split: Split, form: Form, thin: int) -> Chosen:
        watched = self.queries.some(split.validation)
        values = self.values(form.normalise)
        description = Description.fitted(form, values[self.rows(split.train)])
        problem = self.problem(split.train, description.items(values[self.rows(split.train)]))
        seen = description.items(values[self.rows(split.validation)])
        best: Chosen | None = None
        short = 0
        for cost in COSTS[machine][::thin]:
            weights = fitted(machine, problem, cost)
            found = mean(average_precisions(watched, seen.scores(weights), self.depth))
            if best is None or found > best.validated:
                settings = {"machine": machine, "cost": cost, "gap": GAP}
                ranker = Ranker(self.queries.functions, description, weights, settings)
                best = Chosen(ranker, form, cost, found)
            short = short + 1 if found < WORSE * best.validated else 0
            if short == TIMES:
                break
        assert best is not None  # noqa: S101 - there are costs
        return best

    def scored(self, chosen: Chosen, test: Longs) -> Floats:
        """The scores of the documents of these queries."""
        values = self.values(chosen.form.normalise)[self.rows(test)]
        return chosen.ranker.description.items(values).scores(chosen.ranker.weights)
