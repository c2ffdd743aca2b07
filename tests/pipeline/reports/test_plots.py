"""The picture of a run: each kind of lanes has the panels of its own measures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from learners.specs import parse_spec
from pipeline.curves.lane_changes import Change
from pipeline.curves.rank_curve import value_of
from pipeline.curves.recent import recent_points
from pipeline.engine.engine import Engine
from pipeline.log.block import make_block
from pipeline.reports.plots import (
    RANK_PANELS,
    TOPIC_PANELS,
    Panel,
    can_plot,
    curves_figure,
    plot_curves,
)
from pipeline.text.tokenizer import Tokenizer
from tests.conftest import missing
from tests.support.page_stream import ranked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

TOPIC_LANES = ["mmp:loss=1", "perceptron"]
ORDINAL_LANES = ["prank:ranks=5", "widrow-hoff:ranks=5,rate=0.1"]
MIXED = ["mmp:loss=1", "prank:ranks=5", "perceptron", "widrow-hoff:ranks=5,rate=0.1"]


@pytest.fixture(autouse=True)
def _with_matplotlib() -> None:
    if not can_plot():
        missing("matplotlib", "pip install 'wirerank[experiments]'")


def followed(lanes: list[str], events: int) -> Engine:
    engine = Engine([parse_spec(lane) for lane in lanes])
    for _ in engine.process(make_block([ranked(n * n) for n in range(events)], Tokenizer())):
        pass
    engine.close()
    return engine


def lines_of_averages(axis: Axes) -> list[Line2D]:
    """The lines over all rounds; other lines have no label of their own."""
    return [line for line in axis.get_lines() if not str(line.get_label()).startswith("_")]


@pytest.mark.parametrize(
    ("lanes", "rows"),
    [
        (TOPIC_LANES, [TOPIC_PANELS]),
        (ORDINAL_LANES, [RANK_PANELS]),
        (MIXED, [TOPIC_PANELS, RANK_PANELS]),
    ],
)
def test_every_line_is_the_curve_of_its_lane(
    lanes: list[str], rows: list[tuple[Panel, ...]]
) -> None:
    engine = followed(lanes, 300)
    figure = curves_figure(engine.lanes, "a test")
    axes = iter(figure.axes)
    colours: dict[str, set[str]] = {}
    for panels in rows:
        panel_lanes = [lane for lane in engine.lanes if lane.is_ordinal == (panels is RANK_PANELS)]
        for panel in panels:
            axis = next(axes)
            assert axis.get_title().startswith(panel.label)
            for line, lane in zip(lines_of_averages(axis), panel_lanes, strict=True):
                assert line.get_label() == lane.name
                colours.setdefault(lane.name, set()).add(str(line.get_color()))
                points = list(lane.curve.all_points())
                assert np.asarray(line.get_xdata()).tolist() == [point.round for point in points]
                values = [value_of(point.values, panel.measure) for point in points]
                expected = [math.nan if v is None else panel.scale * v for v in values]
                assert np.asarray(line.get_ydata()).tolist() == pytest.approx(expected, nan_ok=True)
    assert next(axes, None) is None
    assert [len(actual) for actual in colours.values()] == [1] * len(lanes)
    assert len(set.union(*colours.values())) == len(lanes)
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == set(lanes)


def test_below_nothing_there_is_room_for_tau_b() -> None:
    figure = curves_figure(followed(ORDINAL_LANES, 300).lanes, "a test")
    loss, _, tau = figure.axes
    assert loss.get_ylim()[0] == 0
    least = min(float(np.nanmin(np.asarray(line.get_ydata()))) for line in lines_of_averages(tau))
    assert least < 0
    assert tau.get_ylim()[0] < least


@pytest.mark.parametrize("events", [0, 1])
def test_lanes_that_learned_nothing_can_be_drawn(tmp_path: Path, events: int) -> None:
    path = tmp_path / "curves.svg"
    plot_curves(path, followed(MIXED, events).lanes, "a test")
    assert "<svg" in path.read_text()


def test_the_last_rounds_and_the_changes_are_drawn() -> None:
    engine = followed(TOPIC_LANES, 300)
    engine.lanes[1].curve.changes.kept.append(Change(200, 190, 0.1, 0.3))
    for panel, axis in zip(TOPIC_PANELS, curves_figure(engine.lanes, "a test").axes, strict=True):
        first, recent, second, other_recent, change = axis.get_lines()
        assert np.asarray(change.get_xdata()).tolist() == [200, 200]
        assert change.get_color() == second.get_color() == other_recent.get_color()
        assert first.get_color() == recent.get_color() != second.get_color()
        points = [point for point in recent_points(engine.lanes[0].curve) if point.round >= 128]
        assert np.asarray(recent.get_xdata()).tolist() == [point.round for point in points]
        expected = [panel.scale * (value_of(point.values, panel.measure) or 0) for point in points]
        assert np.asarray(recent.get_ydata()).tolist() == pytest.approx(expected)
