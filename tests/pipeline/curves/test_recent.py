"""Averages over the last eighth of the rounds equal those computed from the rounds."""

from __future__ import annotations

import numpy as np
import pytest

from learners.measures import MEASURES
from learners.specs import parse_spec
from pipeline.curves.recent import recent_points, recent_values
from pipeline.curves.topic_curve import TopicCurve, is_kept
from pipeline.engine.engine import Engine
from pipeline.log.block import make_block
from pipeline.text.tokenizer import Tokenizer
from tests.support.page_stream import ranked


def followed(rounds: int) -> tuple[Engine, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """Return lanes after these rounds, and the measures of each round of the first lane."""
    engine = Engine([parse_spec(lane) for lane in ("perceptron", "prank:ranks=5")])
    events = [ranked(n * n) for n in range(rounds)]
    events[::5] = [event._replace(topics=()) for event in events[::5]]
    parts = [s.measures[0] for s in engine.process(make_block(events, Tokenizer()))]
    engine.close()
    return engine, np.concatenate([np.empty((0, len(MEASURES))), *parts])


@pytest.mark.parametrize("rounds", [1, 7, 8, 9, 100, 128, 1001])
def test_equal_to_the_average_of_the_rounds(rounds: int) -> None:
    engine, measures = followed(rounds)
    curve = engine.lanes[0].curve
    points = list(recent_points(curve))
    assert [point.round for point in points] == [point.round for point in curve.all_points()]
    for point in points:
        before = [t for t in range(1, point.round) if is_kept(t) and 8 * t <= 7 * point.round]
        last = measures[max(before, default=0) : point.round]
        assert len(last) <= max(1.0, point.round / 7 + 1)
        for column, measure in enumerate(MEASURES):
            values = last[:, column]
            exists = values[~np.isnan(values)]
            value = point.values[measure]
            if len(exists):
                assert value == pytest.approx(exists.mean(), abs=1e-9)
            else:
                assert value is None
    assert recent_values(curve) == points[-1].values


def test_ordinal_lanes() -> None:
    engine, _ = followed(700)
    curve = engine.lanes[1].curve
    for point, recent in zip(curve.all_points(), recent_points(curve), strict=True):
        assert recent.values["tau_b"] == point.values["tau_b"]
        assert 0.0 <= (recent.values["hit_rate"] or 0.0) <= 1.0


def test_no_rounds() -> None:
    assert list(recent_points(TopicCurve())) == []
    assert set(recent_values(TopicCurve()).values()) == {None}
