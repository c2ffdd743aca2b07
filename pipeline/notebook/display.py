"""What a notebook shows: plots, and the table of lanes as HTML."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.engine.lane import Lane
from pipeline.errors import UsageError
from pipeline.printable import printable
from pipeline.reports.plots import can_plot, curves_figure
from pipeline.reports.report import Report, format_column, report_columns
from pipeline.storage.output_files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class CurvesPlot:
    """A plot of learning curves. A notebook shows it as the result of a cell."""

    def __init__(self, lanes: Sequence[Lane], title: str) -> None:
        if not can_plot():
            raise UsageError(
                "plot() needs matplotlib, which is not installed: "
                "pip install 'wirerank[experiments]'"
            )
        self.figure: Figure = curves_figure(lanes, title)  # of matplotlib, to be changed at will

    def __repr__(self) -> str:
        return "<plot of learning curves>"

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        self.figure.savefig(drawn, format="png", dpi=80)
        return drawn.getvalue()

    def save(self, path: str | Path) -> None:
        """Write the plot to a file: .png, .svg or .pdf."""
        drawn, name = io.BytesIO(), Path(path)
        self.figure.savefig(drawn, format=name.suffix.removeprefix(".") or "png", dpi=120)
        write_whole(name, drawn.getvalue())


def html_table(report: Report) -> str:
    """The table of lanes as HTML; the best value of each column is bold."""
    columns = report_columns(report)
    titles = ["lane", "rounds", *(column[0] for column in columns)]
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    rows = [
        f"<td>{escape(printable(name))}</td><td>{lane['rounds']:,}</td>"
        for name, lane in report.items()
    ]
    for _, key, scale, digits in columns:
        values = [lane.get(key) for lane in report.values()]
        for number, (text, best) in enumerate(format_column(values, key, scale, digits)):
            rows[number] += f"<td><b>{text}</b></td>" if best else f"<td>{text}</td>"
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
