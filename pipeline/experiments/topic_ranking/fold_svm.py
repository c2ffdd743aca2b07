"""The batch linear SVM as a ranker of topics: one SVM per topic against the rest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from learners.arrays import Floats
from learners.scores import DenseScores
from pipeline.experiments.experiment import Result
from pipeline.experiments.linear_svm import MOST_ITERATIONS, as_matrix, linear_svm
from pipeline.experiments.text_vectors import l2_normalised
from pipeline.experiments.topic_ranking.fold_training import best_of, judged
from pipeline.experiments.topic_ranking.folds import Fold

COSTS = (0.5, 1.0, 2.0, 4.0)


def svm_scores(cost: float, fold: Fold) -> tuple[Floats, bool]:
    """The scores of the test documents, on vectors of length one, and whether all SVMs converged.

    A topic that no training document has is ranked last; one that all have is ranked first.
    """
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - an extra

    train, test = (
        as_matrix(l2_normalised(part.rows), fold.terms) for part in (fold.train, fold.test)
    )
    wanted = np.zeros((fold.topics, len(fold.train)), np.bool_)
    for document, topics in enumerate(fold.train.topics):
        wanted[topics, document] = True
    scores, converged = np.empty((len(fold.test), fold.topics)), True
    with warnings.catch_warnings():  # the result says whether all of them converged
        warnings.simplefilter("ignore", ConvergenceWarning)
        for topic, positive in enumerate(wanted):
            if positive.all() or not positive.any():
                scores[:, topic] = np.inf if positive.any() else -np.inf
            else:
                model = linear_svm(cost).fit(train, positive)
                scores[:, topic] = model.decision_function(test)
                converged &= bool(np.all(model.n_iter_ < MOST_ITERATIONS))
    return scores, converged


def measure_svm(cost: float, fold: Fold) -> Result:
    """The measures of the SVMs with this C."""
    scores, converged = svm_scores(cost, fold)
    return {**judged(DenseScores(scores), fold), "C": cost, "converged": converged}


def train_svm(fold: Fold, costs: Sequence[float] = COSTS) -> Result:
    """Choose C on held-out training documents, then train on all of them."""
    cost, tried = best_of(costs, fold, measure_svm)
    return {**measure_svm(cost, fold), "tried": tried}
