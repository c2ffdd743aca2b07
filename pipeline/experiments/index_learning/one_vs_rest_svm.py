"""Linear support vector machines, one per class against the rest."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from learners.arrays import Floats, Ints
from pipeline.experiments.experiment import Result
from pipeline.experiments.index_learning.recall_at_rank import recall_measures, true_class_ranks
from pipeline.experiments.index_learning.train_test_split import Examples, Split
from pipeline.experiments.linear_svm import MOST_ITERATIONS, as_matrix, linear_svm

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

COSTS = (1.0, 5.0, 10.0, 100.0)


class OnlyClass:
    """The model of a training part with a single class: it always ranks that class first."""

    def __init__(self, classes: Ints) -> None:
        self.classes_ = classes
        self.coef_ = np.zeros((1, 0))
        self.n_iter_ = 0

    def decision_function(self, rows: csr_matrix[np.float64]) -> Floats:
        """The same score for every row."""
        return np.zeros((rows.shape[0], 1))


def fit(split: Split, cost: float) -> Any:  # noqa: ANN401 - scikit-learn has no types
    """Train one machine per class of the training examples."""
    if len(np.unique(split.train.labels)) == 1:
        return OnlyClass(split.train.labels[:1])
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - an extra

    with warnings.catch_warnings():  # the result says whether it converged
        warnings.simplefilter("ignore", ConvergenceWarning)
        return linear_svm(cost).fit(as_matrix(split.train.rows, split.terms), split.train.labels)


def class_scores(model: Any, examples: Examples, split: Split) -> Floats:  # noqa: ANN401
    """The scores of all classes; a class without training examples is ranked last."""
    trained = np.asarray(model.decision_function(as_matrix(examples.rows, split.terms)))
    if trained.ndim == 1:  # of two classes only the second has a machine
        trained = np.stack((-trained, trained), axis=1)
    scores = np.full((len(examples), len(split.classes)), -np.inf)
    scores[:, model.classes_] = trained
    return scores


def measure(model: Any, split: Split) -> dict[str, float]:  # noqa: ANN401
    """The measures of a model on the test examples."""
    scores = class_scores(model, split.test, split)
    return recall_measures(true_class_ranks(scores, split.test.labels, -np.inf))


def train_svm(split: Split, share: float, costs: Sequence[float] = COSTS) -> Result:
    """Choose C on held-out training examples, then train on all; only the latter is timed."""
    held_out = split.held_out(share)
    best, chosen = -1.0, costs[0]
    for cost in costs:
        r1 = measure(fit(held_out, cost), held_out)["r1"]
        if r1 > best:
            best, chosen = r1, cost
    before = time.process_time()
    model = fit(split, chosen)
    seconds = time.process_time() - before
    measured = {
        "passes": None,
        "seconds": seconds,
        **measure(model, split),
        "d": float(len(split.classes)),
        "connections": int(np.count_nonzero(model.coef_)),
    }
    converged = bool(np.all(model.n_iter_ < MOST_ITERATIONS))
    return {"passes": [measured], "chosen": {"C": chosen, "converged": converged}}
