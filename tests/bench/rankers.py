"""The training time of rankers of query-document sets, beside a classification SVM.

10 queries of 1,000 documents, 15 retrieval functions of 50 cuts: as many training examples as in
the trials of Yue et al. (2007).
"""

from __future__ import annotations

import time
import warnings

import numpy as np

from learners.svm_map.features import BinnedItems
from learners.svm_map.trainer import Queries, train

QUERIES, DOCUMENTS, RELEVANT, FUNCTIONS, CUTS = 10, 1000, 20, 15, 50
COSTS = (1.0, 100.0, 10_000.0)


def made_up_queries(seed: int = 0) -> Queries:
    """Functions of different quality whose errors are correlated."""
    rng = np.random.default_rng(seed)
    relevant = np.zeros((QUERIES, DOCUMENTS), np.bool_)
    for query in relevant:
        query[rng.choice(DOCUMENTS, RELEVANT, replace=False)] = True
    shape = (QUERIES, DOCUMENTS, FUNCTIONS)
    scores = relevant[..., None] * rng.uniform(0.3, 1.5, FUNCTIONS) + rng.normal(size=shape)
    scores += 0.7 * rng.normal(size=(QUERIES, DOCUMENTS, 1))
    scores -= scores.min(axis=1, keepdims=True)
    bins = (scores / scores.max(axis=1, keepdims=True) * CUTS).astype(np.uint8)
    items = BinnedItems(bins.reshape(-1, FUNCTIONS), CUTS)
    return Queries(np.arange(QUERIES + 1) * DOCUMENTS, relevant.ravel(), items)


def svm_seconds(queries: Queries, cost: float) -> float:
    """The seconds of scikit-learn's classifier, on the same features as a matrix."""
    from sklearn.svm import LinearSVC

    items = queries.items
    assert isinstance(items, BinnedItems)
    features = (items.bins[:, :, None] > np.arange(CUTS)).reshape(len(items), -1).astype(float)
    machine = LinearSVC(C=cost / len(items), dual=False, random_state=0)
    before = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(features, queries.relevant)
    return time.perf_counter() - before


def run() -> None:
    """Train with several costs to a gap of 0.001, and print the times."""
    print("rankers: 10 queries x 1,000 documents x 750 features")
    queries = made_up_queries()
    train(queries, 1.0, max_searches=3)  # compile
    for cost in COSTS:
        before = time.perf_counter()
        trained = train(queries, cost)
        seconds = time.perf_counter() - before
        svm = svm_seconds(queries, cost * 100)
        print(
            f"  SVM-map, C = {cost:<10,g}{seconds:8.2f} s, {trained.planes} planes, gap "
            f"{trained.gap:.1e}; LinearSVC {svm:.2f} s: {svm / seconds:.1f} x"
        )
