"""Linear support vector machines, one for each class against the rest (scikit-learn)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from learners.arrays import Floats, Ints
from learners.segment import Rows
from pipeline.experiments.examples import Examples, Split
from pipeline.experiments.experiment import Result
from pipeline.experiments.hits import hits_in, measures_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

COSTS = (1.0, 5.0, 10.0, 100.0)
MOST_ITERATIONS = 5000


def as_matrix(rows: Rows, terms: int) -> csr_matrix[np.float64]:
    """Rows as scikit-learn takes them."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - an extra, and slow to import

    # scikit-learn refuses examples that have no features at all.
    shape = (len(rows), max(1, terms))
    return csr_matrix((rows.values, rows.terms, rows.starts), shape=shape)


def machine(cost: float) -> Any:  # noqa: ANN401 - scikit-learn has no types
    """A linear machine with squared hinge loss, which is what the paper's solver minimises."""
    from sklearn.svm import LinearSVC  # noqa: PLC0415 - an extra, and slow to import

    return LinearSVC(C=cost, max_iter=MOST_ITERATIONS, random_state=0)


class OnlyClass:
    """What takes the place of machines if training has one class: it comes first, always."""

    def __init__(self, classes: Ints) -> None:
        self.classes_ = classes
        self.coef_ = np.zeros((1, 0))
        self.n_iter_ = 0

    def decision_function(self, rows: csr_matrix[np.float64]) -> Floats:
        """The same for every row."""
        return np.zeros((rows.shape[0], 1))


def fitted(split: Split, cost: float) -> Any:  # noqa: ANN401 - scikit-learn has no types
    """A machine for each class of the training examples."""
    if len(np.unique(split.train.labels)) == 1:
        return OnlyClass(split.train.labels[:1])
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - an extra

    with warnings.catch_warnings():  # that it did not converge is in its result
        warnings.simplefilter("ignore", ConvergenceWarning)
        return machine(cost).fit(as_matrix(split.train.rows, split.terms), split.train.labels)


def scores_of(model: Any, examples: Examples, split: Split) -> Floats:  # noqa: ANN401
    """The scores of all classes; one that was not in training is behind all others."""
    found = np.asarray(model.decision_function(as_matrix(examples.rows, split.terms)))
    if found.ndim == 1:  # of two classes only the second has a machine
        found = np.stack((-found, found), axis=1)
    scores = np.full((len(examples), len(split.classes)), -np.inf)
    scores[:, model.classes_] = found
    return scores


def ranked(scores: Floats, labels: Ints) -> dict[str, float]:
    """The measures of these scores."""
    return measures_of(hits_in(scores, labels, -np.inf))


def train_svm(split: Split, share: float, costs: Sequence[float] = COSTS) -> Result:
    """Choose C on examples held out of training, then train on all; the search is not timed."""
    held_out = split.held_out(share)
    best, chosen = -1.0, costs[0]
    for cost in costs:
        scores = scores_of(fitted(held_out, cost), held_out.test, held_out)
        found = ranked(scores, held_out.test.labels)["r1"]
        if found > best:
            best, chosen = found, cost
    before = time.process_time()
    model = fitted(split, chosen)
    seconds = time.process_time() - before
    measured = {
        "passes": None,
        "seconds": seconds,
        **ranked(scores_of(model, split.test, split), split.test.labels),
        "d": float(len(split.classes)),
        "connections": int(np.count_nonzero(model.coef_)),
    }
    converged = bool(np.all(model.n_iter_ < MOST_ITERATIONS))
    return {"passes": [measured], "chosen": {"C": chosen, "converged": converged}}
