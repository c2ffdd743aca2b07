"""The picture of a run: each kind of lanes has the panels of its own measures."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from learners.specs import parse_spec
from pipeline.curves.rank_curve import value_of
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
            for line, lane in zip(axis.get_lines(), panel_lanes, strict=True):
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
    least = min(float(np.nanmin(np.asarray(line.get_ydata()))) for line in tau.get_lines())
    assert least < 0
    assert tau.get_ylim()[0] < least


@pytest.mark.parametrize("events", [0, 1])
def test_lanes_that_learned_nothing_can_be_drawn(tmp_path: Path, events: int) -> None:
    path = tmp_path / "curves.svg"
    plot_curves(path, followed(MIXED, events).lanes, "a test")
    assert "<svg" in path.read_text()
