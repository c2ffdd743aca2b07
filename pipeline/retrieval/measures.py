"""How good rankings of query-document sets are, query by query.

=============  ==============  =================================================================
measure        range, better   remarks
=============  ==============  =================================================================
ap             0 .. 1, higher  average precision: the mean, over the relevant documents that are
                               known, of the precision at the place of each; one that is not
                               ranked adds 0, as in trec_eval
p@k            0 .. 1, higher  the share of relevant documents among the first k; of k, however
                               few documents there are
ndcg@k         0 .. 1, higher  gains 2^grade - 1, discounted by log2(place + 1), of those of the
                               best ranking of all documents known. (LETOR's own script does not
                               discount the second place, trec_eval takes the grade as the gain.)
=============  ==============  =================================================================

A query without relevant documents has none of them: NaN, and it is left out of means. LETOR's
script counts such a query as 0, which is `counting_all`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.arrays import Floats, Longs
from pipeline.retrieval.query_sets import QuerySet

CUTOFFS = (1, 5, 10)
MEASURES = ("ap", *(f"p@{k}" for k in CUTOFFS), *(f"ndcg@{k}" for k in CUTOFFS))
DEPTH = 1000  # places that count, as of a run


def average_precision(grades: Longs, relevant: int) -> float:
    """Of a ranking of documents with these grades, if so many relevant ones are known.

    >>> round(average_precision(np.array([1, 0, 2, 0]), 2), 4)  # (1 + 2/3) / 2
    0.8333
    """
    places = np.flatnonzero(grades > 0) + 1
    return float((np.arange(1, len(places) + 1) / places).sum() / relevant)


def precision(grades: Longs, k: int) -> float:
    """The share of relevant documents among the first k."""
    return int(np.count_nonzero(grades[:k] > 0)) / k


def gain(grades: Longs, k: int) -> float:
    """What the first k documents are worth, the later the less."""
    first = np.maximum(grades[:k], 0).astype(np.float64)
    return float(((2.0**first - 1.0) / np.log2(np.arange(2, len(first) + 2))).sum())


def ndcg(grades: Longs, known: Longs, k: int) -> float:
    """The gain of a ranking, of that of the best: `known` has all relevant grades, falling."""
    return gain(grades, k) / gain(known, k)


def ranking(scores: Floats) -> Longs:
    """The places of documents by falling score; equals as listed, and without a score (NaN) none.

    >>> ranking(np.array([0.5, np.nan, 2.0, 0.5])).tolist()
    [2, 0, 3]
    """
    order = np.argsort(-scores, kind="stable")  # NaN comes last
    return order[: len(scores) - int(np.count_nonzero(np.isnan(scores)))]


def measured(queries: QuerySet, scores: Floats, depth: int = DEPTH) -> Floats:
    """The measures (queries x `MEASURES`) of ranking the documents by these scores."""
    found = np.full((len(queries), len(MEASURES)), np.nan)
    for query in queries.with_relevant():
        mine = slice(queries.starts[query], queries.starts[query + 1])
        grades = queries.grades[mine][ranking(scores[mine])[:depth]]
        known = queries.known[query]
        found[query] = (
            average_precision(grades, len(known)),
            *(precision(grades, k) for k in CUTOFFS),
            *(ndcg(grades, known, k) for k in CUTOFFS),
        )
    return found


def average_precisions(queries: QuerySet, scores: Floats, depth: int = DEPTH) -> Floats:
    """Only that of each query, for choosing between many scores."""
    found = np.full(len(queries), np.nan)
    for query in queries.with_relevant():
        mine = slice(queries.starts[query], queries.starts[query + 1])
        grades = queries.grades[mine][ranking(scores[mine])[:depth]]
        found[query] = average_precision(grades, len(queries.known[query]))
    return found


def mean(values: Floats | Sequence[float]) -> float:
    """The mean over the queries that have a relevant document; NaN if none has."""
    known = np.asarray(values)[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def counting_all(values: Floats | Sequence[float]) -> float:
    """The mean over all queries, 0 for those without a relevant document, as LETOR's script."""
    return float(np.nan_to_num(np.asarray(values)).mean()) if len(values) else float("nan")
