"""Decide which topics a lane assigns, before the labels are seen, and learn from the labels.

A decider follows the steps of a lane after the lane has ranked them. It sees nothing but the best
topics of each ranking with their scores, and the labels. So the shards of a lane decide alike.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints
from learners.checks import MAX_COUNT, check_between, check_extent, floats
from learners.decisions.calibration import (
    ALWAYS_ESTIMATED,
    AVERAGE,
    INTERCEPT_KNOWN,
    INTERCEPT_PRIOR,
    MOST_GRADIENT,
    MOST_SCORE,
    MOST_WEIGHT,
    PENDING_ROUNDS,
    ROUNDS,
    SCALE_ROUNDS,
    SLOPE_KNOWN,
    SLOPE_PRIOR,
    START,
    STEP_ROUNDS,
    TOPIC_COLUMNS,
    VARIANCE,
    Calibration,
    describe,
    estimate,
    learn_candidates,
    learn_scale,
)
from learners.decisions.candidates import HITS, PROBABILITIES, TABLE_ROWS
from learners.decisions.decided import CANDIDATES, Decisions
from learners.decisions.features import FEATURES
from learners.decisions.goals import Goal
from learners.decisions.pairs import (
    KNOWN,
    MOST_PAIR_WEIGHT,
    PAIR_COLUMNS,
    PAIR_PRIOR,
    WEIGHT,
    Partners,
    pair_count,
)
from learners.decisions.rules import (
    BINS,
    CERTAINTY_BINS,
    CUT,
    CUT_ROUNDS,
    FIRST_RIGHT,
    FIRST_SIZES,
    OUTSIDE,
    REVIEW_CUT,
    RIGHT,
    SINCE,
    SIZES,
    TALLIES,
    RuleState,
    assign,
    certainty_of,
    count_likely,
    first_cut,
    learn_rules,
    mark_relevant,
    needs_review,
)
from learners.growing_array import GrowingArray
from learners.jit import njit
from learners.learner import State
from learners.scores import Best, Scores
from learners.segment import Steps

FORMER_FEATURES = 10  # of a candidate, before there were pairs of topics


@njit
def follow_decisions(
    steps: Steps, order: Ints, values: Floats, goal: Goal, risk: float,
    model: Calibration, state: RuleState, made: Decisions,
) -> None:  # fmt: skip
    """Take the steps in order: decide about ranked rows, and learn from those with labels.

    `order` and `values` are the best topics of the ranked rows and their scores, in their order.
    """
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels = steps.label_starts, steps.labels
    rule, level = goal
    topics, scores, likely, assigned, certainty, review, known = made
    # Arrays that are made here have sizes that the compiler knows.
    table = np.zeros((TABLE_ROWS, CANDIDATES))
    hits = table[HITS]
    partners = Partners(
        np.zeros(1, np.int64),
        np.zeros(CANDIDATES + 1, np.int64),
        np.zeros((CANDIDATES, CANDIDATES), np.int64),
    )
    sorted_places = np.empty(CANDIDATES, np.int64)
    reduced = np.empty((FEATURES, FEATURES))
    ranked = 0
    # The row that the table describes, by the present weights; how many of its candidates have a
    # probability, and their mean score.
    described, found, mean = -1, 0, 0.0
    for step in range(len(step_row)):
        row = step_row[step]
        if not step_learn[step]:
            for place in range(CANDIDATES):
                topics[row, place] = order[ranked, place]
                scores[row, place] = values[ranked, place]
            ranked += 1
            known[row] = step_known[step]
        candidates = 0
        for place in range(CANDIDATES):
            candidates += topics[row, place] >= 0
        if not step_learn[step]:
            mean = describe(topics, scores, row, candidates, model, table)
            found = estimate(topics, row, candidates, ALWAYS_ESTIMATED, model, table, partners)
            described = row
            for place in range(CANDIDATES):
                likely[row, place] = table[PROBABILITIES, place]
            assign(rule, state, topics, row, found, table, assigned, sorted_places)
            certainty[row] = certainty_of(found, state.tally[OUTSIDE], table, row, assigned)
            review[row] = needs_review(certainty[row], risk, state)
            continue
        start, stop = label_starts[step], label_starts[step + 1]
        count = found if described == row else count_likely(likely, row)
        mark_relevant(topics, row, count, labels, start, stop, hits)
        if count > 0:
            if described != row:  # weights have changed since it was ranked: the label is late
                mean = describe(topics, scores, row, candidates, model, table)
                estimate(topics, row, candidates, count, model, table, partners)
            if model.scale[ROUNDS] >= SCALE_ROUNDS:
                learn_candidates(topics, row, count, mean, model, table, partners, reduced)
            learn_scale(candidates, model.scale, table)
            described = -1
        learn_rules(rule, level, risk, state, made, row, count, table, labels, start, stop)


class Decider:
    """Decides for one lane. Its state is part of the lane's model."""

    def __init__(self, goal: Goal, risk: float) -> None:
        self.goal = goal
        self.risk = risk
        self.left_out = False  # whether it was restored without what an older version had learned
        self._weights = first_weights()
        self._curvature: Floats = np.zeros((FEATURES, FEATURES))
        self._pending: Floats = np.zeros(PENDING_ROUNDS + 1)
        self._calibrated = GrowingArray(2)
        self._pairs = GrowingArray(1)
        self._scale: Floats = np.zeros(VARIANCE + 1)
        self._tally: Floats = np.zeros(TALLIES)
        self._tally[RIGHT], self._tally[SIZES] = FIRST_RIGHT, FIRST_SIZES
        self._tally[CUT], self._tally[REVIEW_CUT] = first_cut(goal.rule), 1.0
        self._assigned = GrowingArray(2)
        self._histogram: Floats = np.zeros((BINS, 2))
        self._certainty: Floats = np.zeros((CERTAINTY_BINS, 2))
        self._grow(0)

    def _grow(self, topics: int) -> None:
        """Make room for what is known of each topic."""
        self._calibrated.grow(topics, TOPIC_COLUMNS)
        self._assigned.grow(topics, 2)
        self._pairs.grow(PAIR_COLUMNS * pair_count(topics))

    def follow(self, steps: Steps, scores: Scores, made: Decisions) -> Best:
        """Decide about the ranked rows, and learn from the labelled ones; return the candidates.

        Rows that were ranked in an earlier segment have their decisions in `made` already.
        """
        self._grow(scores.topics)
        ranked = ~steps.learn
        rows = steps.row[ranked]
        first = int(rows[0]) if len(rows) else 0
        known = steps.known[ranked]
        order, values = scores.best(known, CANDIDATES, first)
        model = Calibration(
            self._weights, self._curvature, self._calibrated.room, self._pairs.room, self._scale,
            self._pending,
        )  # fmt: skip
        state = RuleState(self._tally, self._assigned.room, self._histogram, self._certainty)
        follow_decisions(steps, order, values, self.goal, self.risk, model, state, made)
        return Best(first, known, order, values)

    def state(self) -> State:
        """Return everything that was learned as named arrays (copies)."""
        return {
            "weights": self._weights.copy(),
            "curvature": self._curvature.copy(),
            "pending": self._pending.copy(),
            "calibrated": self._calibrated.copy(),
            "pairs": self._pairs.copy().reshape(-1, PAIR_COLUMNS),
            "scale": self._scale.copy(),
            "tally": self._tally.copy(),
            "assigned": self._assigned.copy(),
            "histogram": self._histogram.copy(),
            "certainty": self._certainty.copy(),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave; see `Learner.restore`.

        The state of an older version has other features and no pairs of topics. Thresholds that
        were learned with it do not fit, either, so everything is learned again.
        """
        lacks_pairs = "pairs" not in state
        self.left_out = lacks_pairs and len(floats(state, "weights", None)) == FORMER_FEATURES
        if self.left_out:
            return
        weights = floats(state, "weights", FEATURES)
        curvature = floats(state, "curvature", FEATURES, FEATURES)
        pending = floats(state, "pending", PENDING_ROUNDS + 1)
        calibrated = floats(state, "calibrated", None, TOPIC_COLUMNS)
        scale = floats(state, "scale", VARIANCE + 1)
        tally = floats(state, "tally", TALLIES)
        assigned = floats(state, "assigned", len(calibrated), 2)
        pairs = floats(state, "pairs", pair_count(len(calibrated)), PAIR_COLUMNS)
        check_between("weights", weights, -MOST_WEIGHT, MOST_WEIGHT)
        check_between("curvature", curvature, -MOST_SCORE, MOST_SCORE)
        check_between("pending", pending[:FEATURES], -MOST_GRADIENT, MOST_GRADIENT)
        check_between("pending", pending[[PENDING_ROUNDS]], 0.0, STEP_ROUNDS - 1)
        check_between("calibrated", calibrated[:, :INTERCEPT_KNOWN], -MOST_WEIGHT, MOST_WEIGHT)
        check_between("calibrated", calibrated[:, INTERCEPT_KNOWN], 0.0, INTERCEPT_PRIOR)
        check_between("calibrated", calibrated[:, SLOPE_KNOWN], 0.0, SLOPE_PRIOR)
        check_between("pairs", pairs[:, WEIGHT], -MOST_PAIR_WEIGHT, MOST_PAIR_WEIGHT)
        check_between("pairs", pairs[:, KNOWN], 0.0, PAIR_PRIOR)
        check_between("scale", scale[[ROUNDS, VARIANCE]], 0.0, 8.0 * MOST_SCORE * MOST_SCORE)
        check_between("scale", scale[[AVERAGE]], -MOST_SCORE, MOST_SCORE)
        check_between("tally", tally, 0.0, MAX_COUNT)
        check_between("tally", tally[[SIZES]], np.finfo(np.float64).tiny)
        check_between("tally", tally[[CUT, REVIEW_CUT]], 0.0, 1.0)
        check_between("tally", tally[[SINCE]], 0.0, CUT_ROUNDS - 1)
        check_between("assigned", assigned, 0.0, MAX_COUNT)
        histogram = floats(state, "histogram", BINS, 2)
        certainty = floats(state, "certainty", CERTAINTY_BINS, 2)
        check_between("histogram", histogram, 0.0, MAX_COUNT)
        check_between("certainty", certainty, 0.0, MAX_COUNT)
        self._weights, self._curvature = weights.copy(), curvature.copy()
        self._pending = pending.copy()
        self._scale, self._tally = scale.copy(), tally.copy()
        self._histogram, self._certainty = histogram.copy(), certainty.copy()
        self._calibrated.load(calibrated)
        self._assigned.load(assigned)
        self._pairs.load(pairs.ravel())

    def check_references(self, topics: int) -> None:
        """Raise `InvalidArrayError` if there is something of a topic that the stream lacks."""
        check_extent("calibrated", self._calibrated.shape[0], topics, "topics")

    def size_bytes(self) -> int:
        """The memory of what was learned."""
        fixed = (self._curvature, self._histogram, self._certainty)
        growing = (self._calibrated, self._assigned, self._pairs)
        return sum(array.nbytes for array in (*fixed, *growing))

    @staticmethod
    def max_bytes(topics: int) -> int:
        """The most that `size_bytes` can be."""
        fixed = FEATURES * FEATURES + 2 * (BINS + CERTAINTY_BINS)
        return 8 * (fixed + (TOPIC_COLUMNS + 2) * topics + PAIR_COLUMNS * pair_count(topics))


def first_weights() -> Floats:
    """The weights of the features before anything is learned."""
    weights = np.zeros(FEATURES)
    weights[: len(START)] = START
    return weights
