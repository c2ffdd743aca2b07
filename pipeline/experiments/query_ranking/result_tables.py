"""The tables of query ranking: means over queries, and each method compared with SVM-map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from learners.arrays import Floats
from pipeline.experiments.experiment import Result
from pipeline.experiments.figures import Dot
from pipeline.experiments.query_ranking.methods import RetrievalMethod
from pipeline.experiments.tables import Column, Number, Row, Table
from pipeline.retrieval.measures import CUTOFFS, MEASURES, counting_all, mean
from pipeline.retrieval.signed_rank_test import LEVEL, signed_rank_test


class Probability(Column):
    """The p value of a test; two stars where it is significant, as in the paper."""

    __slots__ = ()

    def shown(self, number: Number | None, sign: str = "") -> str:
        """A p value with its stars, or blanks of the same width."""
        if number is None:
            return "   "
        least = 10.0**-self.digits
        under = "<" if number.value < least / 2 else ""  # a p value is never 0
        text = f"{under}{least if under else number.value:.{self.digits}f}"
        return f"{text} {'**' if number.value < (self.starred_below or 0.0) else '  '}"


COLUMNS = (
    Column("ap", "MAP", 4, better=1),
    Column("all", "MAP, none = 0", 4, better=1),
    Column("wins", "W", 0),
    Column("losses", "L", 0),
    Probability("p", "p   ", 4, starred_below=LEVEL),
    *(Column(f"p@{k}", f"P@{k}", 3, better=1) for k in CUTOFFS),
    *(Column(f"ndcg@{k}", f"NDCG@{k}", 3, better=1) for k in CUTOFFS),
)


def by_query(results: Sequence[Result]) -> dict[str, Floats]:
    """The measures of every query, averaged over the splits in which it was a test query."""
    values: dict[str, list[list[float]]] = {}
    for result in results:
        for query, measures in zip(result["queries"], result["measures"], strict=True):
            values.setdefault(query, []).append(measures)
    return {query: np.array(rows, np.float64).mean(axis=0) for query, rows in values.items()}


def table_of(
    name: str,
    title: str,
    methods: Sequence[RetrievalMethod],
    results: Mapping[str, Sequence[Result]],
) -> Table:
    """A row per method; `results` holds the results of all splits by the method's key."""
    ours = by_query(results["map"])
    rows = [row_of(method, by_query(results[method.key]), ours) for method in methods]
    without = any(np.isnan(values[0]) for values in ours.values())
    columns = [column for column in COLUMNS if without or column.key != "all"]
    notes = [
        f"{method.label}: {chosen}"
        for method in methods
        if (chosen := chosen_settings(results[method.key]))
    ]
    return Table(name, title, columns, rows, notes)


def row_of(
    method: RetrievalMethod, of_method: Mapping[str, Floats], ours: Mapping[str, Floats]
) -> Row:
    """The means of a method, and the comparison of SVM-map with it."""
    queries = list(ours)
    values = np.array([of_method[query] for query in queries])
    numbers = {key: Number(mean(values[:, place])) for place, key in enumerate(MEASURES)}
    numbers["all"] = Number(counting_all(values[:, 0]))
    if method.key != "map":
        test = signed_rank_test([ours[query][0] for query in queries], values[:, 0])
        numbers["wins"], numbers["losses"] = Number(test.wins), Number(test.losses)
        numbers["p"] = Number(test.p)
    return Row(method.label, numbers)


def dots_of(
    methods: Sequence[RetrievalMethod], results: Mapping[str, Sequence[Result]]
) -> list[Dot]:
    """The MAP of every method."""
    dots = []
    for method in methods:
        values = np.array(list(by_query(results[method.key]).values()))
        dots.append(Dot(method.label, method.colour, Number(mean(values[:, 0])), None))
    return dots


def chosen_settings(results: Sequence[Result]) -> str:
    """The settings or functions that were chosen, with how many splits chose each."""
    counts: Counter[str] = Counter()
    for result in results:
        chosen = result["chosen"]
        if "form" in chosen:
            counts[f"{chosen['form']}, C = {chosen['cost']:g}"] += 1
        elif chosen:
            counts[f"{chosen['function']}"] += 1
    most = [f"{settings} ({count}x)" for settings, count in counts.most_common(4)]
    rest = sum(counts.values()) - sum(count for _, count in counts.most_common(4))
    return "; ".join(most) + (f"; others ({rest}x)" if rest else "")
