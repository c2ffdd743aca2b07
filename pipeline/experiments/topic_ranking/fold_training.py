"""Trains a lane in one pass over the training documents of a fold, then ranks the test part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from learners.learner import Learner
from learners.prototypes.rocchio import Rocchio
from learners.scores import RowScores
from learners.specs import LaneSpec, parse_spec, resolved
from pipeline.curves.topic_curve import TopicCurve
from pipeline.engine.lane import share
from pipeline.experiments.experiment import Result
from pipeline.experiments.topic_ranking.folds import Fold
from pipeline.experiments.topic_ranking.methods import learning_curve, measures_on_test

Setting = TypeVar("Setting")


class Pass(NamedTuple):
    """The scores of a lane in one pass over a fold."""

    learned: RowScores  # the training documents, each before it was learned
    tested: RowScores  # the test documents, after all of those and without learning


def one_pass(lane: LaneSpec, fold: Fold) -> Pass:
    """The scores of a lane that learns from the documents' vectors."""
    learner = lane.build()
    learned, tested = no_scores(learner, fold)
    learner.follow(share(fold.training_segment(), [lane.norm]).by_norm[lane.norm], learned)
    if isinstance(learner, Rocchio):  # from all documents, not only those before its last refresh
        learner.make()
    learner.follow(share(fold.test_segment(), [lane.norm]).by_norm[lane.norm], tested)
    return Pass(learned, tested)


def combined_pass(stacker: LaneSpec, lanes: Sequence[Pass], fold: Fold) -> Pass:
    """The scores of a stacker, which learns from the scores of other lanes.

    It uses the scores that the lanes gave a document before they learned it.
    """
    learner = stacker.build()
    learned, tested = no_scores(learner, fold)
    learner.follow(fold.training_segment(), learned, [lane.learned for lane in lanes])
    learner.follow(fold.test_segment(), tested, [lane.tested for lane in lanes])
    return Pass(learned, tested)


def no_scores(learner: Learner, fold: Fold) -> Pass:
    """Room for the scores of a lane."""
    return Pass(*(learner.new_scores(len(part), fold.topics) for part in (fold.train, fold.test)))


def train_lane(spec: str, fold: Fold, lanes: Sequence[str] = ()) -> Result:
    """The learning curve of a lane, and its measures on the test documents.

    A stacker combines the lanes that its spec names; by default it combines all of `lanes`.
    """
    *others, lane = resolved([parse_spec(one) for one in (*lanes, spec)])
    if lane.is_stacker:
        known = {other.name: other for other in others}
        passes = [one_pass(known[name], fold) for name in lane.combines]
        scores = combined_pass(lane, passes, fold)
    else:
        scores = one_pass(lane, fold)
    learning = TopicCurve()
    learning.follow(fold.training_segment().steps, scores.learned)
    return {"lane": spec, **judged(scores.tested, fold), "curve": learning_curve(learning)}


def judged(scores: RowScores, fold: Fold) -> Result:
    """The measures of the test documents, ranked by these scores."""
    curve = TopicCurve()
    curve.follow(fold.true_topics(), scores)
    return measures_on_test(curve)


def best_of(
    settings: Sequence[Setting], fold: Fold, run: Callable[[Setting, Fold], Result]
) -> tuple[Setting, dict[str, float]]:
    """The setting with the best average precision on held-out training documents.

    Of equal ones it is the first. Also returns the average precision of every setting.
    """
    held_out = fold.held_out()
    tried = {str(one): run(one, held_out)["measures"]["average_precision"] for one in settings}
    best = max(settings, key=lambda one: tried[str(one)])
    return best, tried


def train_chosen(specs: Sequence[str], fold: Fold, lanes: Sequence[str] = ()) -> Result:
    """The lane that is best on held-out training documents, trained on all of them.

    `lanes` are the lanes that a stacker can combine.
    """
    train = partial(train_lane, lanes=lanes)
    if len(specs) == 1:
        return train(specs[0], fold)
    best, tried = best_of(specs, fold, train)
    return {**train(best, fold), "tried": tried}
