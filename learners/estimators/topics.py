"""Estimators that rank classes: for one label per document, or for a matrix of several labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target, unique_labels

from learners.arrays import Floats
from learners.estimators.base import MULTILABEL, Array, LearnerClassifier
from learners.learner import Learner
from learners.options import Option, OptionError
from learners.prototypes.rocchio import Rocchio
from learners.specs import parse_spec
from learners.topic_learner import MAX_SCORES, TopicLearner

THRESHOLD = Option("threshold", 0.0, "labels with a higher score are predicted")


class TopicClassifier(LearnerClassifier):
    """Ranks the classes of documents by their scores.

    `decision_function` gives the scores. With one label per document, `predict` gives the class
    with the best score. If y is an indicator matrix, `predict` gives all labels with a score above
    `threshold`; the learners are made for the order of the scores, not for this threshold.
    """

    threshold: float

    def _start(self, y: Array, classes: Any) -> None:  # noqa: ANN401
        self.multilabel_ = type_of_target(y) == MULTILABEL
        if self.multilabel_:
            self.classes_ = np.arange(y.shape[1])
        else:
            self.classes_ = unique_labels(y if classes is None else classes)
        learner = self._new_learner()
        if not isinstance(learner, TopicLearner):
            raise OptionError(
                f"{type(self).__name__} needs a learner of topics that is not divided into shards. "
                f"Got {type(learner).__name__}."
            )
        self.learner_ = learner.declare_topics(range(len(self.classes_)))

    def _learn(self, X: Any, y: Array) -> None:  # noqa: ANN401
        if (type_of_target(y) == MULTILABEL) != self.multilabel_:
            raise ValueError(
                "y was an indicator matrix in one call, and one label per document in another"
            )
        topics: Any = y if self.multilabel_ else self._numbers(y).tolist()
        self.learner_.learn_only(X, topics)
        if isinstance(self.learner_, Rocchio):
            self.learner_.make()  # do not wait until its next refresh

    def _scores(self, X: Any) -> Floats:  # noqa: ANN401
        """The scores of all classes: documents x classes."""
        X = self._documents(X)
        scores: Floats = np.empty((X.shape[0], len(self.classes_)))
        rows = max(1, MAX_SCORES // max(1, len(self.classes_)))
        for start in range(0, len(scores), rows):
            part = slice(start, start + rows)
            scores[part] = self.learner_.rank_many(X[part]).scores
        return scores

    def decision_function(self, X: Any) -> Floats:  # noqa: ANN401
        """Return the scores: documents x classes.

        With two classes, and one label per document, it is one number per document: the lead of
        the second class.
        """
        scores = self._scores(X)
        if self.multilabel_ or scores.shape[1] > 2:
            return scores
        return scores[:, -1] - scores[:, 0]

    def predict(self, X: Any) -> Array:  # noqa: ANN401
        """Return the best class of each document, or an indicator matrix if y was one."""
        scores = self._scores(X)
        if self.multilabel_:
            threshold = float(THRESHOLD.check(self.threshold, type(self).__name__))
            return (scores > threshold).astype(np.int64)
        best: Array = self.classes_[scores.argmax(axis=1)]
        return best

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class MMPClassifier(TopicClassifier):
    """Multiclass multilabel perceptron: see `learners.MMP`.

    Examples
    --------
    >>> from learners.estimators import MMPClassifier
    >>> model = MMPClassifier().fit([[1.0, 0.0], [0.0, 1.0]], ["grain", "ship"])
    >>> model.predict([[0.2, 0.7]])
    array(['ship'], dtype='<U5')

    """

    learner_name = "mmp"

    def __init__(
        self,
        loss: int = 1,
        margin: float = 0.0,
        average: bool = False,
        kernel: str = "linear",
        budget: int = 1000,
        norm: str = "none",
        epochs: int = 1,
        threshold: float = 0.0,
    ) -> None:
        self.loss = loss
        self.margin = margin
        self.average = average
        self.kernel = kernel
        self.budget = budget
        self.norm = norm
        self.epochs = epochs
        self.threshold = threshold


class PerceptronClassifier(TopicClassifier):
    """One perceptron per class: see `learners.Perceptron`."""

    learner_name = "perceptron"

    def __init__(
        self,
        margin: float = 0.0,
        average: bool = False,
        norm: str = "none",
        epochs: int = 1,
        threshold: float = 0.0,
    ) -> None:
        self.margin = margin
        self.average = average
        self.norm = norm
        self.epochs = epochs
        self.threshold = threshold


class AROWClassifier(TopicClassifier):
    """One linear classifier per class, with a confidence for each weight: see `learners.AROW`."""

    learner_name = "arow"

    def __init__(
        self,
        rho: float = 1.0,
        positive: float = 10.0,
        bias: float = 0.2,
        norm: str = "l2",
        epochs: int = 1,
        threshold: float = 0.0,
    ) -> None:
        self.rho = rho
        self.positive = positive
        self.bias = bias
        self.norm = norm
        self.epochs = epochs
        self.threshold = threshold


class SoftAROWClassifier(TopicClassifier):
    """AROW with a smooth hinge and a noise that adapts by itself: see `learners.SoftAROW`."""

    learner_name = "soft-arow"

    def __init__(
        self,
        rho: float = 1.0,
        positive: float = 10.0,
        bias: float = 0.35,
        smooth: float = 0.03,
        norm: str = "l2",
        epochs: int = 1,
        threshold: float = 0.0,
    ) -> None:
        self.rho = rho
        self.positive = positive
        self.bias = bias
        self.smooth = smooth
        self.norm = norm
        self.epochs = epochs
        self.threshold = threshold


class CommitteeClassifier(TopicClassifier):
    """Several perceptrons per class with random starts: see `learners.Committee`."""

    learner_name = "committee"

    def __init__(
        self,
        size: int = 10,
        seed: int = 0,
        norm: str = "l2",
        epochs: int = 1,
        threshold: float = 0.0,
    ) -> None:
        self.size = size
        self.seed = seed
        self.norm = norm
        self.epochs = epochs
        self.threshold = threshold


class RocchioClassifier(TopicClassifier):
    """Rocchio's prototypes, made again after each call: see `learners.Rocchio`."""

    learner_name = "rocchio"
    poor_score = True  # its weights are not negative: it is made for counts of words

    def __init__(
        self,
        refresh: int = 1000,
        norm: str = "none",
        epochs: int = 1,
        threshold: float = 0.0,
    ) -> None:
        self.refresh = refresh
        self.norm = norm
        self.epochs = epochs
        self.threshold = threshold


class FeatureFocusClassifier(TopicClassifier):
    """An index from features to classes, for many classes: see `learners.FeatureFocus`."""

    learner_name = "feature-focus"
    takes_negative = False
    poor_score = True

    def __init__(
        self,
        margin: float = 0.0,
        w_min: float = 0.01,
        d_max: int = 25,
        leak: bool = True,
        rating: bool = True,
        boolean: bool = False,
        memory: float = 0.0,
        norm: str = "l2",
        epochs: int = 1,
        threshold: float = 0.0,
    ) -> None:
        self.margin = margin
        self.w_min = w_min
        self.d_max = d_max
        self.leak = leak
        self.rating = rating
        self.boolean = boolean
        self.memory = memory
        self.norm = norm
        self.epochs = epochs
        self.threshold = threshold


class IndependentClassifier(TopicClassifier):
    """An index that learns from every document, the baseline: see `learners.Independent`."""

    learner_name = "independent"
    takes_negative = False
    poor_score = True

    def __init__(
        self,
        p_ind: float = 0.0,
        norm: str = "none",
        epochs: int = 1,
        threshold: float = 0.0,
    ) -> None:
        self.p_ind = p_ind
        self.norm = norm
        self.epochs = epochs
        self.threshold = threshold


class FrequencyClassifier(TopicClassifier):
    """Classes by how often they occurred, whatever the document: see `learners.Frequency`."""

    learner_name = "frequency"
    poor_score = True

    def __init__(self, norm: str = "none", epochs: int = 1, threshold: float = 0.0) -> None:
        self.norm = norm
        self.epochs = epochs
        self.threshold = threshold


class RankingClassifier(TopicClassifier):
    """Any learner of topics, by the spec of a lane: `RankingClassifier("mmp:loss=1,norm=l2")`."""

    def __init__(self, spec: str = "mmp", epochs: int = 1, threshold: float = 0.0) -> None:
        self.spec = spec
        self.epochs = epochs
        self.threshold = threshold

    def _new_learner(self, **fixed: int) -> Learner:
        spec = parse_spec(self.spec)
        learner = spec.build()
        learner.norm = spec.norm
        return learner
