"""The pictures of experiments: what is written on them is not cut off."""

from __future__ import annotations

import pytest

from pipeline.experiments.figures import Line, Panel, draw_lines
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
