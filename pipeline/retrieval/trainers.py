"""Trains the linear models that rank documents: SVM-map, SVM-roc and classifiers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from learners.arrays import Floats, Longs
from learners.svm_map.features import BinnedItems, DenseItems, Items
from learners.svm_map.trainer import Queries, train

GAP = 1e-2  # a smaller gap was no better on validation queries
MOST_SEARCHES = 200  # costs that need more searches were worse on validation queries
MOST_ITERATIONS, TOLERANCE = 100, 1e-2  # a smaller tolerance takes minutes and ranks no better

# C multiplies the mean loss: over queries for rankers, over documents for classifiers.
COSTS = {
    "map": tuple(10.0**e for e in range(-3, 6)),
    "roc": tuple(10.0**e for e in range(-3, 6)),
    "acc": tuple(10.0**e for e in range(-1, 7)),
    "acc2": tuple(10.0**e for e in range(-1, 7)),
}


def fitted(machine: str, queries: Queries, cost: float) -> Floats:
    """The weights that a machine learns.

    `map` and `roc` are structural SVMs for average precision and for correctly ordered pairs. `acc`
    is a classification SVM that separates relevant documents from others. `acc2` is the same with
    balanced weights: the relevant documents together weigh as much as all others.
    """
    if machine in ("map", "roc"):
        return train(queries, cost, machine, gap=GAP, max_searches=MOST_SEARCHES).weights
    return classified(queries, cost, balanced=machine == "acc2")


def classified(queries: Queries, cost: float, balanced: bool) -> Floats:
    """The weights of a linear classifier with squared hinge loss (scikit-learn's LinearSVC)."""
    if queries.relevant.all() or not queries.relevant.any():
        return np.zeros(queries.items.width)
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - an extra, slow to import
    from sklearn.svm import LinearSVC  # noqa: PLC0415

    machine = LinearSVC(
        C=cost / len(queries.items), dual=False, max_iter=MOST_ITERATIONS, tol=TOLERANCE,
        class_weight="balanced" if balanced else None, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():  # the validation queries show whether it is good enough
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(as_matrix(queries.items), queries.relevant)
    weights: Floats = machine.coef_[0]
    return weights


def as_matrix(items: Items) -> Any:  # noqa: ANN401 - scipy has no types
    """The items as a matrix for scikit-learn; binned items become a sparse matrix."""
    if isinstance(items, DenseItems):
        return items.matrix
    if not isinstance(items, BinnedItems):
        raise TypeError(f"expected dense or binned items, found {type(items).__name__}")
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - an extra, and slow to import

    bins = items.bins.astype(np.int64)
    ends: Longs = np.cumsum(bins.ravel())
    above = np.arange(ends[-1]) - np.repeat(ends - bins.ravel(), bins.ravel())
    firsts = np.tile(np.arange(bins.shape[1]) * items.cuts, len(bins))
    columns = np.repeat(firsts, bins.ravel()) + above
    starts = np.concatenate(([0], np.cumsum(bins.sum(axis=1))))
    return csr_matrix((np.ones(len(columns)), columns, starts), (len(bins), items.width))
