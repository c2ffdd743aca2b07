"""Estimators of ordered classes: the labels, sorted, are the ranks from the lowest to the highest.

With an index of a class as its distance from the lowest one, these learners reduce the distance
between the predicted and the true class, and not only the number of errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target, unique_labels

from learners.estimators.base import MULTILABEL, Array, LearnerClassifier
from learners.options import OptionError
from learners.ordinal.base import RANKS, OrdinalLearner


class OrdinalClassifier(LearnerClassifier):
    """Predicts one of several ordered classes. The number of ranks is that of the classes."""

    poor_score = True  # the classes of the checks are in no order

    def _start(self, y: Array, classes: Any) -> None:  # noqa: ANN401
        self._refuse_matrix(y)
        self.classes_ = unique_labels(y if classes is None else classes)
        if len(self.classes_) > int(RANKS.most or 0):
            raise ValueError(
                f"y has {len(self.classes_)} classes, and an ordinal learner has at most "
                f"{RANKS.most} ranks. If y is a measurement, put it into bins first."
            )
        learner = self._new_learner(ranks=max(2, len(self.classes_)))
        if not isinstance(learner, OrdinalLearner):
            raise OptionError(f"{type(learner).__name__} does not learn ranks.")
        self.learner_ = learner

    def _learn(self, X: Any, y: Array) -> None:  # noqa: ANN401
        self._refuse_matrix(y)
        self.learner_.learn_only(X, self._numbers(y) + 1)

    def _refuse_matrix(self, y: Array) -> None:
        if type_of_target(y) == MULTILABEL:
            raise ValueError(f"{type(self).__name__} learns one label per document, not a matrix.")

    def predict(self, X: Any) -> Array:  # noqa: ANN401
        """Return the predicted class of each document."""
        X = self._documents(X)
        ranks = self.learner_.rank_many(X).ranks
        best: Array = self.classes_[np.minimum(ranks, len(self.classes_)) - 1]
        return best


class PRankClassifier(OrdinalClassifier):
    """One direction, cut into ranks by thresholds: see `learners.PRank`.

    Examples
    --------
    >>> from learners.estimators import PRankClassifier
    >>> model = PRankClassifier(epochs=20).fit([[0.0], [1.0], [2.0], [3.0]], [1, 2, 2, 3])
    >>> model.predict([[0.0], [1.5], [5.0]])
    array([1, 2, 3])

    """

    learner_name = "prank"

    def __init__(
        self,
        kernel: str = "linear",
        budget: int = 1000,
        average: bool = False,
        norm: str = "none",
        epochs: int = 1,
    ) -> None:
        self.kernel = kernel
        self.budget = budget
        self.average = average
        self.norm = norm
        self.epochs = epochs


class WidrowHoffClassifier(OrdinalClassifier):
    """Online linear regression on the rank, rounded: see `learners.WidrowHoff`."""

    learner_name = "widrow-hoff"

    def __init__(
        self,
        rate: float = 0.01,
        kernel: str = "linear",
        budget: int = 1000,
        average: bool = False,
        norm: str = "none",
        epochs: int = 1,
    ) -> None:
        self.rate = rate
        self.kernel = kernel
        self.budget = budget
        self.average = average
        self.norm = norm
        self.epochs = epochs


class MulticlassPerceptronClassifier(OrdinalClassifier):
    """One prototype per rank, which ignores the order: see `learners.MulticlassPerceptron`."""

    learner_name = "multiclass-perceptron"

    def __init__(
        self,
        kernel: str = "linear",
        budget: int = 1000,
        average: bool = False,
        norm: str = "none",
        epochs: int = 1,
    ) -> None:
        self.kernel = kernel
        self.budget = budget
        self.average = average
        self.norm = norm
        self.epochs = epochs
