"""The baseline IND, whose threshold p_ind is chosen on held-out training examples."""

from __future__ import annotations

from learners.index.independent import Independent
from pipeline.experiments.experiment import Result
from pipeline.experiments.index_learning.lane_training import ranks_of, train_lane
from pipeline.experiments.index_learning.recall_at_rank import recall_measures
from pipeline.experiments.index_learning.train_test_split import Split, learning_segment

THRESHOLDS = (
    *(round(0.01 * step, 2) for step in range(1, 10)),
    *(round(0.05 * step, 2) for step in range(2, 13)),
)


def train_independent(split: Split, share: float) -> Result:
    """Choose p_ind on the last `share` of the training examples, then train on all of them."""
    held_out = split.held_out(share)
    learner = Independent()
    nothing = learner.new_scores(0, len(split.classes))  # nothing is ranked while it counts
    learner.follow(learning_segment(held_out.train, held_out), nothing)
    best, chosen = -1.0, 0.0
    for threshold in THRESHOLDS:
        learner.least_share = threshold
        r1 = recall_measures(ranks_of(learner, held_out.test, held_out))["r1"]
        if r1 > best:
            best, chosen = r1, threshold
    result = train_lane(f"independent:p_ind={chosen}", split, 1)
    return {**result, "chosen": {"p_ind": chosen}}
