"""What the estimators share: checked input, `fit`, `partial_fit`, and a learner that they build.

Estimators store their parameters unchanged and check them in `fit`, as scikit-learn wants it. All
learners take documents in the order of the rows, so `fit` and several `partial_fit` give the same
model. There are no weights of documents: `sample_weight` is not a parameter of `fit`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target, unique_labels
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from learners.learner import Learner
from learners.options import Option
from learners.specs import LANE_OPTIONS, LEARNERS, LaneSpec

Array = npt.NDArray[Any]
EPOCHS = Option("epochs", 1, "how often fit goes over the documents", least=1, most=10**6)
(NORM,) = (option for option in LANE_OPTIONS if option.name == "norm")
MULTILABEL = "multilabel-indicator"


class LearnerClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that feeds a learner. Subclasses have the parameters and the predictions."""

    learner_name: ClassVar[str]  # in `LEARNERS`
    takes_negative: ClassVar[bool] = True  # whether values below 0 mean anything
    poor_score: ClassVar[bool] = False  # whether it is a baseline, or needs many documents
    epochs: int
    norm: str

    def fit(self, X: Any, y: Any) -> Self:  # noqa: ANN401 - matrices of any library
        """Learn the rows of X in order, `epochs` times, from scratch."""
        epochs = EPOCHS.check(self.epochs, type(self).__name__)
        X, y = self._checked(X, y, reset=True)
        self._start(y, None)
        for _ in range(int(epochs)):
            self._learn(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:  # noqa: ANN401
        """Learn the rows of X in order, once, and keep what was learned before.

        The first call needs `classes`: all labels that will ever occur. They can be left out if y
        is an indicator matrix, whose columns are the classes.
        """
        first = not hasattr(self, "learner_")
        X, y = self._checked(X, y, reset=first)
        if first:
            if classes is None and type_of_target(y) != MULTILABEL:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self._start(y, classes)
        elif classes is not None and not np.array_equal(self.classes_, unique_labels(classes)):
            raise ValueError(
                f"classes={classes!r:.200} is not the same as on the first call to partial_fit: "
                f"{self.classes_!r:.200}"
            )
        self._learn(X, y)
        return self

    @abstractmethod
    def _start(self, y: Array, classes: Any) -> None:  # noqa: ANN401 - a sequence of labels
        """Set `classes_`, and `learner_` to a learner that has learned nothing."""

    @abstractmethod
    def _learn(self, X: Any, y: Array) -> None:  # noqa: ANN401
        """Learn checked documents with their labels."""

    def _new_learner(self, **fixed: int) -> Learner:
        """A learner with the options of the estimator; some may be fixed."""
        owner, kind = type(self).__name__, LEARNERS[self.learner_name]
        given = {**self.get_params(), **fixed}
        options = {o.name: o.check(given[o.name], owner) for o in kind.options}
        norm = str(NORM.check(self.norm, owner))
        learner = LaneSpec(self.learner_name, self.learner_name, options, norm).build()
        learner.norm = norm
        return learner

    def _checked(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:  # noqa: ANN401
        X, y = validate_data(
            self, X, y, reset=reset, accept_sparse="csr", dtype=np.float64, multi_output=True
        )
        self._check_sign(X)
        check_classification_targets(y)
        if type_of_target(y) != MULTILABEL:
            y = column_or_1d(y, warn=True)
        return X, y

    def _documents(self, X: Any) -> Any:  # noqa: ANN401
        """The documents to predict, checked against those that were learned."""
        check_is_fitted(self, "learner_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        self._check_sign(X)
        return X

    def _check_sign(self, X: Any) -> None:  # noqa: ANN401
        if not self.takes_negative:
            check_non_negative(X, type(self).__name__)

    def _numbers(self, y: Array) -> Array:
        """The indices of labels in `classes_`."""
        numbers: Array = np.searchsorted(self.classes_, y)
        numbers[numbers == len(self.classes_)] = 0
        unknown = self.classes_[numbers] != y
        if unknown.any():
            raise ValueError(
                f"y has the label {y[unknown][0]!r:.80}, which is not one of the classes of the "
                "first call"
            )
        return numbers

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - scikit-learn has no types
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = not self.takes_negative
        tags.classifier_tags.poor_score = self.poor_score
        return tags
