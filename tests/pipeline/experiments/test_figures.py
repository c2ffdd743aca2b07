"""The figures of experiments: texts on them are not cut off."""

from __future__ import annotations

import pytest

from pipeline.experiments.figures import Dot, Line, Panel, draw_dots, draw_lines
from pipeline.experiments.runner import described
from pipeline.experiments.tables import Number

pytest.importorskip("matplotlib", reason="pip install 'wirerank[experiments]'")


@pytest.mark.parametrize("panels", [1, 2])
def test_the_legend_of_many_lines_fits(panels: int) -> None:
    lines = [
        Line(f"margin {margin}, {what}", "#000000", "-", "o", [(1.0, Number(0.5, 0.1))])
        for margin in ("0", "0.1", "0.2", "0.5")
        for what in ("test", "training")
    ]
    figure = draw_lines("title", "passes", "R1", [Panel("corpus", lines=lines)] * panels)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= box.y0


def test_long_titles_of_panels_fit() -> None:
    label = "SVM-acc2 (min-max bins, balanced)"
    title = "TREC runs: 10 queries train, 5 choose, the others are measured"
    dots = [Dot(label, "#000000", Number(0.5), None)]
    figure = draw_dots("title", "MAP", [Panel(title, dots=dots)] * 2)
    figure.draw_without_rendering()
    left, right = (axis.title.get_window_extent() for axis in figure.axes)
    assert figure.bbox.x0 <= left.x0 < left.x1 < right.x0 < right.x1 <= figure.bbox.x1
    assert described(figure)["text"].startswith(f"{title}: MAP")


@pytest.mark.parametrize(
    ("deviation", "label"), [(0.1, "ours, with standard deviation"), (None, "ours")]
)
def test_one_split_has_no_deviation(deviation: float | None, label: str) -> None:
    dot = Dot("perceptron", "#000000", Number(0.5, deviation), Number(0.6))
    (legend,) = draw_dots("title", "R1", [Panel("corpus", dots=[dot])]).legends
    assert [text.get_text() for text in legend.get_texts()] == [label, "the paper's"]
