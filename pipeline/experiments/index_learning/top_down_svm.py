"""Top-down classification over a taxonomy (section 5.1 of the 2010 paper).

At every node, one linear SVM per child separates the child from its siblings. It is trained on the
examples at or below that node, and a sigmoid (Platt) turns its scores into probabilities. The
probabilities are multiplied along a path, and the path ends where the product falls below p_min.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from pipeline.experiments.experiment import Result
from pipeline.experiments.index_learning.recall_at_rank import recall_measures, true_class_ranks
from pipeline.experiments.index_learning.taxonomy import Node, taxonomy
from pipeline.experiments.index_learning.train_test_split import Split
from pipeline.experiments.linear_svm import as_matrix, linear_svm

LEAST_PROBABILITIES = tuple(round(0.05 + 0.05 * k, 2) for k in range(1, 10))
FOLDS = 3  # for fitting the sigmoid; the SVM itself then learns all examples
COST = 1.0

Matrix = Any  # sparse, as scikit-learn takes it
Probability = Callable[[Matrix], Floats]


class TopDown(NamedTuple):
    """A tree, a function per node that returns its probability among its siblings, and a size."""

    root: Node
    probability: dict[str, Probability]
    weights: int


def fit(split: Split) -> TopDown:
    """Train a classifier per node of the taxonomy."""
    root = taxonomy(split.classes)
    matrix = as_matrix(split.train.rows, split.terms)
    probability: dict[str, Probability] = {}
    weights = 0
    for parent in (root, *root.nodes()):
        below = np.flatnonzero(np.isin(split.train.labels, list(parent.leaves())))
        for child in parent.children:
            positive = np.isin(split.train.labels[below], list(child.leaves()))
            probability[child.name], size = fit_one(matrix[below], positive)
            weights += size
    return TopDown(root, probability, weights)


def fit_one(matrix: Matrix, positive: Bools) -> tuple[Probability, int]:
    """The classifier of one node as a function to probabilities, and its number of weights."""
    fewest = int(min(positive.sum(), len(positive) - positive.sum()))
    if fewest == 0:  # all examples are of this node, or none is
        share = float(positive.mean()) if len(positive) else 0.0
        return lambda rows: np.full(rows.shape[0], share), 0
    model = linear_svm(COST)
    if fewest < FOLDS:  # too few to fit a sigmoid: use the fixed sigmoid of the paper
        model.fit(matrix, positive)
        return lambda rows: 1.0 / (1.0 + np.exp(-2.0 * model.decision_function(rows))), int(
            np.count_nonzero(model.coef_)
        )
    from sklearn.calibration import CalibratedClassifierCV  # noqa: PLC0415 - an extra

    fitted = CalibratedClassifierCV(model, method="sigmoid", cv=FOLDS, ensemble=False)
    fitted.fit(matrix, positive)
    inner = fitted.calibrated_classifiers_[0].estimator
    return lambda rows: fitted.predict_proba(rows)[:, 1], int(np.count_nonzero(inner.coef_))


def rank(model: TopDown, matrix: Matrix, labels: Ints, least: float) -> tuple[Longs, float]:
    """The rank of each example's class (0 if no path reached it), and the classifiers applied.

    The second number is the mean per example. The candidates are the nodes at which a path ended.
    Equally probable ones are ranked in the order of the taxonomy.
    """
    count = len(labels)
    order = list(model.root.nodes())
    place = {node.name: i for i, node in enumerate(order)}
    own = {node.number: i for i, node in enumerate(order) if node.number is not None}
    reached = np.zeros((count, len(order)))
    applied = 0

    def descend(node: Node, numbers: Longs, path: Floats) -> None:
        nonlocal applied
        for child in node.children:
            if not len(numbers):
                return
            applied += len(numbers)
            product = path * model.probability[child.name](matrix[numbers])
            kept = product >= least
            reached[numbers[kept], place[child.name]] = product[kept]
            descend(child, numbers[kept], product[kept])

    descend(model.root, np.arange(count), np.ones(count))
    candidates = reached.copy()
    for node in order:
        for child in node.children:
            candidates[reached[:, place[child.name]] > 0.0, place[node.name]] = 0.0
    true = np.array([own[label] for label in labels.tolist()], np.int32)
    return true_class_ranks(candidates, true, 0.0), applied / max(count, 1)


def train_top_down(
    split: Split, share: float, least: Sequence[float] = LEAST_PROBABILITIES
) -> Result:
    """Choose p_min on held-out training examples, then train on all of them."""
    held_out = split.held_out(share)
    model = fit(held_out)
    matrix = as_matrix(held_out.test.rows, split.terms)
    best, chosen = -1.0, least[0]
    for bound in least:
        r1 = recall_measures(rank(model, matrix, held_out.test.labels, bound)[0])["r1"]
        if r1 > best:
            best, chosen = r1, bound
    before = time.process_time()
    model = fit(split)
    seconds = time.process_time() - before
    ranks, applied = rank(model, as_matrix(split.test.rows, split.terms), split.test.labels, chosen)
    measured = {
        "passes": None, "seconds": seconds, **recall_measures(ranks), "d": applied,
        "connections": model.weights,
    }  # fmt: skip
    return {"passes": [measured], "chosen": {"p_min": chosen}}
