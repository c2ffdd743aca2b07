"""Lanes that rank topics in an experiment: one pass over the training documents, then the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from learners.rocchio import Rocchio
from learners.scores import DenseScores
from learners.segment import Floats
from learners.specs import parse_spec
from pipeline.curves import Curve
from pipeline.experiments.experiment import Result
from pipeline.experiments.topic_folds import Fold
from pipeline.experiments.topic_ranking import learning_curve, measured
from pipeline.lanes import share

Setting = TypeVar("Setting")


def train_lane(spec: str, fold: Fold) -> Result:
    """The losses of a lane while it learned, and its measures on the test documents."""
    parsed = parse_spec(spec)
    learner = parsed.build()
    lessons = share(fold.lessons(), [parsed.norm]).by_norm[parsed.norm]
    seen = np.zeros((len(fold.train), fold.topics))
    learner.follow(lessons, seen)
    learning = Curve()
    learning.follow(lessons.steps, DenseScores(seen))
    if isinstance(learner, Rocchio):  # of all documents, not of those up to its last making
        learner.make()
    questions = share(fold.questions(), [parsed.norm]).by_norm[parsed.norm]
    scores = np.zeros((len(fold.test), fold.topics))
    learner.follow(questions, scores)
    return {"lane": spec, **tested(scores, fold), "curve": learning_curve(learning)}


def tested(scores: Floats, fold: Fold) -> Result:
    """The measures of the test documents with these scores."""
    curve = Curve()
    curve.follow(fold.answers(), DenseScores(scores))
    return measured(curve)


def best_of(
    settings: Sequence[Setting], fold: Fold, run: Callable[[Setting, Fold], Result]
) -> tuple[Setting, dict[str, float]]:
    """The setting of the best average precision on held-out training documents.

    Of equals it is the first. Also what every setting had there.
    """
    held_out = fold.held_out()
    tried = {str(one): run(one, held_out)["measures"]["average_precision"] for one in settings}
    best = max(settings, key=lambda one: tried[str(one)])
    return best, tried


def train_chosen(specs: Sequence[str], fold: Fold) -> Result:
    """The lane that is best on held-out training documents, trained on all of them."""
    if len(specs) == 1:
        return train_lane(specs[0], fold)
    best, tried = best_of(specs, fold, train_lane)
    return {**train_lane(best, fold), "tried": tried}
