"""Measures of rankings of query-document sets, per query.

=============  ==============  =================================================================
measure        range, better   remarks
=============  ==============  =================================================================
ap             0 .. 1, higher  average precision: the mean, over all known relevant documents, of
                               the precision at the place of each; one that is not ranked adds 0,
                               as in trec_eval
p@k            0 .. 1, higher  the number of relevant documents among the first k, divided by k
                               even if there are fewer than k documents
ndcg@k         0 .. 1, higher  gains 2^grade - 1, discounted by log2(place + 1), divided by those
                               of the best ranking of all known documents. (LETOR's own script
                               does not discount the second place; trec_eval takes the grade as
                               the gain.)
=============  ==============  =================================================================

A query without relevant documents has no measures: they are NaN, and means leave it out. LETOR's
script counts such a query as 0; `counting_all` does the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.arrays import Floats, Longs
from pipeline.retrieval.query_sets import QuerySet

CUTOFFS = (1, 5, 10)
MEASURES = ("ap", *(f"p@{k}" for k in CUTOFFS), *(f"ndcg@{k}" for k in CUTOFFS))
DEPTH = 1000  # places of a ranking that count


def average_precision(grades: Longs, relevant: int) -> float:
    """The average precision of a ranking with these grades; `relevant` documents are known.

    >>> round(average_precision(np.array([1, 0, 2, 0]), 2), 4)  # (1 + 2/3) / 2
    0.8333
    """
    places = np.flatnonzero(grades > 0) + 1
    return float((np.arange(1, len(places) + 1) / places).sum() / relevant)


def precision(grades: Longs, k: int) -> float:
    """The share of relevant documents among the first k."""
    return int(np.count_nonzero(grades[:k] > 0)) / k


def gain(grades: Longs, k: int) -> float:
    """The discounted gain of the first k documents."""
    first = np.maximum(grades[:k], 0).astype(np.float64)
    return float(((2.0**first - 1.0) / np.log2(np.arange(2, len(first) + 2))).sum())


def ndcg(grades: Longs, known: Longs, k: int) -> float:
    """The gain of a ranking divided by the best one; `known` has all relevant grades, falling."""
    return gain(grades, k) / gain(known, k)


def ranking(scores: Floats) -> Longs:
    """The documents by falling score, equal ones as listed; those without a score are left out.

    >>> ranking(np.array([0.5, np.nan, 2.0, 0.5])).tolist()
    [2, 0, 3]
    """
    order = np.argsort(-scores, kind="stable")  # NaN comes last
    return order[: len(scores) - int(np.count_nonzero(np.isnan(scores)))]


def measured(queries: QuerySet, scores: Floats, depth: int = DEPTH) -> Floats:
    """The measures (queries x `MEASURES`) of the documents ranked by these scores."""
    measures = np.full((len(queries), len(MEASURES)), np.nan)
    for query in queries.with_relevant():
        grades = ranked_grades(queries, query, scores, depth)
        known = queries.known[query]
        measures[query] = (
            average_precision(grades, len(known)),
            *(precision(grades, k) for k in CUTOFFS),
            *(ndcg(grades, known, k) for k in CUTOFFS),
        )
    return measures


def average_precisions(queries: QuerySet, scores: Floats, depth: int = DEPTH) -> Floats:
    """The average precision of every query; faster than `measured`."""
    precisions = np.full(len(queries), np.nan)
    for query in queries.with_relevant():
        grades = ranked_grades(queries, query, scores, depth)
        precisions[query] = average_precision(grades, len(queries.known[query]))
    return precisions


def ranked_grades(queries: QuerySet, query: int, scores: Floats, depth: int) -> Longs:
    """The grades of the first `depth` documents of a query, ranked by these scores."""
    rows = slice(queries.starts[query], queries.starts[query + 1])
    return queries.grades[rows][ranking(scores[rows])[:depth]]


def mean(values: Floats | Sequence[float]) -> float:
    """The mean over the queries that have a relevant document; NaN if none has."""
    known = np.asarray(values)[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def counting_all(values: Floats | Sequence[float]) -> float:
    """The mean over all queries, where those without a relevant document count as 0."""
    return float(np.nan_to_num(np.asarray(values)).mean()) if len(values) else float("nan")
