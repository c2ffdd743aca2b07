"""A lane: one learner configuration that follows the stream, and its learning curve."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from learners.arrays import Floats, Ints
from learners.decisions.decided import Decisions
from learners.decisions.reordering import (
    by_probability,
    head_by_probability,
    permute_scores,
    reorder_places,
)
from learners.learner import Learner
from learners.scores import NO_BEST, Best, DenseScores, LabelKind, Places, RowScores, Scores
from learners.segment import Rows, Segment, Steps
from learners.specs import LaneSpec
from learners.unit_length import unit_length
from pipeline.curves.decision_curve import DecisionCurve
from pipeline.curves.rank_curve import RankCurve
from pipeline.curves.topic_curve import LearningCurve, TopicCurve


@dataclass(frozen=True, slots=True)
class SharedSegment:
    """A segment in the forms that lanes need: for each norm, the same steps over scaled vectors."""

    by_norm: dict[str, Segment]

    def between(self, start: int, stop: int) -> SharedSegment:
        """All rows, with only the steps from `start` up to `stop`."""
        return SharedSegment(
            {norm: segment.between(start, stop) for norm, segment in self.by_norm.items()}
        )

    def __len__(self) -> int:
        return len(self.by_norm["none"].steps)


def share(segment: Segment, norms: Collection[str]) -> SharedSegment:
    """A segment for lanes of these norms; the vectors of each norm are computed once."""
    by_norm = {"none": segment}
    if "l2" in norms:
        rows = segment.rows
        scaled = Rows(rows.starts, rows.terms, unit_length(rows))
        by_norm["l2"] = Segment(scaled, segment.steps, segment.terms, segment.topics)
    return SharedSegment(by_norm)


def new_curve(learner: Learner) -> LearningCurve:
    """Return a learning curve for the kind of label that a learner learns from."""
    if learner.label_kind() is LabelKind.RANKS:
        return RankCurve(learner.ranks)
    return TopicCurve()


class Lane:
    """A learner and its learning curve; if it assigns topics, also what decides, and its curve."""

    def __init__(self, spec: LaneSpec, learner: Learner) -> None:
        self.spec = spec
        self.name = spec.name
        self.learner = learner
        self.curve = new_curve(learner)
        self.decider = spec.new_decider()
        self.decision_curve = (
            None if self.decider is None else DecisionCurve(has_marks=self.marks_documents)
        )
        self.seconds = 0.0

    @property
    def is_ordinal(self) -> bool:
        """Whether the lane learns ranks, not topics."""
        return self.learner.label_kind() is LabelKind.RANKS

    @property
    def marks_documents(self) -> bool:
        """Whether the lane marks documents for review."""
        return self.spec.risk > 0.0

    @property
    def combines(self) -> tuple[str, ...]:
        """The names of the lanes whose scores a stacker combines; empty for other lanes."""
        return self.spec.combines

    @property
    def has_sparse_scores(self) -> bool:
        """Whether the scores take memory only for the topics that were retrieved."""
        return self.learner.scores_class.is_sparse

    def new_decisions(self, rows: int) -> Decisions | None:
        """Room for the decisions about this many rows, if the lane assigns topics."""
        return None if self.decider is None else Decisions.new(rows)

    def follow(
        self,
        shared: SharedSegment,
        scores: RowScores,
        others: Sequence[RowScores] = (),
        decisions: Decisions | None = None,
    ) -> Floats:
        """Rank and learn a segment; return the measures of its rounds, one row per round.

        A round is measured by the ranking made before it was learned. `others` are the scores of
        the lanes that a stacker combines. A lane that assigns topics writes what it decides to
        `decisions`.
        """
        started = time.perf_counter()
        segment = shared.by_norm[self.spec.norm]
        self.learner.follow(segment, scores, others)
        places = None
        if decisions is not None:
            best = self.decide(segment, scores, decisions)
            if self.decision_curve is not None:
                self.decision_curve.follow(segment.steps, decisions, segment.topics)
            places = self.places(segment.steps, scores, decisions, best)
        measures = self.curve.follow(segment.steps, scores, places)
        self.seconds += time.perf_counter() - started
        return measures

    def size_bytes(self) -> int:
        """The memory of its model, with what it needs to assign topics."""
        size = self.learner.size_bytes()
        if self.decider is not None and self.decision_curve is not None:
            size += self.decider.size_bytes() + self.decision_curve.size_bytes()
        return size

    def max_bytes(self, terms: int, topics: int) -> int:
        """The most that `size_bytes` can be."""
        size = self.learner.max_bytes(terms, topics)
        if self.decider is not None and self.decision_curve is not None:
            size += self.decider.max_bytes(topics) + self.decision_curve.max_bytes(topics)
        return size

    def decide(self, segment: Segment, scores: RowScores, decisions: Decisions) -> Best:
        """Decide about the ranked rows of a segment, and learn from the labelled ones.

        Returns the best topics of the ranked rows.
        """
        if self.decider is None:
            return NO_BEST
        return self.decider.follow(segment.steps, Scores.expect(scores), decisions)

    def places(
        self, steps: Steps, scores: RowScores, decisions: Decisions | None, best: Best = NO_BEST
    ) -> Places:
        """The places of labels in the rankings, which may be in order of probabilities."""
        places = Scores.expect(scores).places(steps, best)
        if decisions is not None and self.spec.by_probability:
            reorder_places(steps, decisions, self.has_sparse_scores, places)
        return places

    def emitted(self, decisions: Decisions | None) -> Decisions | None:
        """What was decided, with the candidates in the order of the ranking."""
        if decisions is None or not self.spec.by_probability:
            return decisions
        return by_probability(decisions, self.has_sparse_scores)

    def combined_scores(self, scores: RowScores, decisions: Decisions | None) -> RowScores:
        """The scores for a stacker: by these, topics are in the order of the ranking."""
        if decisions is None or not self.spec.by_probability:
            return scores
        table = Scores.expect(scores).table()
        table = table if scores.is_sparse else table.copy()
        permute_scores(decisions, self.has_sparse_scores, table)
        return DenseScores(table)

    def head(self, decisions: Decisions | None, row: int) -> Ints:
        """The first topics of a row, if they are not in order of the scores; otherwise none."""
        if decisions is None or not self.spec.by_probability:
            return np.zeros(0, np.int32)
        return head_by_probability(decisions, row, self.has_sparse_scores)
