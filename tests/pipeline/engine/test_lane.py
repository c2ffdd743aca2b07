"""A lane and its scores go together, or the lane says so."""

from __future__ import annotations

import pytest

from learners.scores import (
    DenseScores,
    LabelKind,
    RankScores,
    RowScores,
    ScoresMismatchError,
)
from learners.sparse_scores import SparseScores
from learners.specs import parse_spec
from pipeline.curves.rank_curve import RankCurve
from pipeline.curves.topic_curve import LearningCurve, TopicCurve
from pipeline.engine.lane import Lane, share
from tests.support.random_streams import random_stream

KINDS: list[tuple[str, type[RowScores], type[LearningCurve]]] = [
    ("mmp", DenseScores, TopicCurve),
    ("mmp:shards=2", DenseScores, TopicCurve),
    ("feature-focus", SparseScores, TopicCurve),
    ("prank:ranks=9", RankScores, RankCurve),
]


@pytest.mark.parametrize(("spec", "scores", "curve"), KINDS)
def test_scores_of_another_lane_are_an_error(
    spec: str, scores: type[RowScores], curve: type[LearningCurve]
) -> None:
    stream = random_stream(1)
    segment = stream.segment(0, 1)  # one document, ranked
    parsed = parse_spec(spec)
    lane = Lane(parsed, parsed.build())
    assert type(lane.curve) is curve
    assert lane.is_ordinal == (scores.label_kind is LabelKind.RANKS)
    assert lane.has_sparse_scores == (scores is SparseScores)
    shared = share(segment, [parsed.norm])
    for kind in (DenseScores, SparseScores, RankScores):
        given = kind.new(len(segment.rows), segment.topics)
        if kind is scores:
            lane.follow(shared, given)
        else:
            with pytest.raises(ScoresMismatchError, match=f"got {kind.__name__}"):
                lane.follow(shared, given)


def test_scores_of_another_curve_are_an_error() -> None:
    steps = random_stream(1).segment(0, 2).steps
    with pytest.raises(ScoresMismatchError, match="Expected RankScores, got DenseScores"):
        RankCurve(5).follow(steps, DenseScores.new(1, 9))
    with pytest.raises(ScoresMismatchError, match="Expected Scores, got RankScores"):
        TopicCurve().follow(steps, RankScores(1))
