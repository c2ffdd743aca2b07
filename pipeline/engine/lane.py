"""A lane: one learner configuration that follows the stream, and its learning curve."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from learners.arrays import Floats
from learners.learner import Learner
from learners.scores import LabelKind, RowScores
from learners.segment import Rows, Segment
from learners.specs import LaneSpec
from learners.unit_length import unit_length
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
    """A learner and its learning curve."""

    def __init__(self, spec: LaneSpec, learner: Learner) -> None:
        self.spec = spec
        self.name = spec.name
        self.learner = learner
        self.curve = new_curve(learner)
        self.seconds = 0.0

    @property
    def is_ordinal(self) -> bool:
        """Whether the lane learns ranks, not topics."""
        return self.learner.label_kind() is LabelKind.RANKS

    @property
    def combines(self) -> tuple[str, ...]:
        """The names of the lanes whose scores a stacker combines; empty for other lanes."""
        return self.spec.combines

    @property
    def has_sparse_scores(self) -> bool:
        """Whether the scores take memory only for the topics that were retrieved."""
        return self.learner.scores_class.is_sparse

    def follow(
        self, shared: SharedSegment, scores: RowScores, others: Sequence[RowScores] = ()
    ) -> Floats:
        """Rank and learn a segment; return the measures of its rounds, one row per round.

        A round is measured by the ranking made before it was learned. `others` are the scores of
        the lanes that a stacker combines.
        """
        started = time.perf_counter()
        segment = shared.by_norm[self.spec.norm]
        self.learner.follow(segment, scores, others)
        measures = self.curve.follow(segment.steps, scores)
        self.seconds += time.perf_counter() - started
        return measures
