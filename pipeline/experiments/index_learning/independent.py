"""IND, whose threshold is searched on examples that are held out of training."""

from __future__ import annotations

from learners.index.feature_focus import Independent
from pipeline.experiments.examples import Split, to_learn
from pipeline.experiments.experiment import Result
from pipeline.experiments.hits import measures_of
from pipeline.experiments.index_learning.lanes import ranks_of, train_lane

THRESHOLDS = (
    *(round(0.01 * step, 2) for step in range(1, 10)),
    *(round(0.05 * step, 2) for step in range(2, 13)),
)


def train_independent(split: Split, share: float) -> Result:
    """Count most of the examples, choose by the others, and count all of them anew."""
    held_out = split.held_out(share)
    learner = Independent()
    nothing = learner.new_scores(0, len(split.classes))  # nothing is ranked while it counts
    learner.follow(to_learn(held_out.train, held_out), nothing)
    best, chosen = -1.0, 0.0
    for threshold in THRESHOLDS:
        learner.least = threshold
        found = measures_of(ranks_of(learner, held_out.test, held_out))["r1"]
        if found > best:
            best, chosen = found, threshold
    result = train_lane(f"independent:p_ind={chosen}", split, 1)
    return {**result, "chosen": {"p_ind": chosen}}
