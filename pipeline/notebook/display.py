"""What a notebook shows: plots, and the table of lanes as HTML."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.engine.lane import Lane
from pipeline.errors import UsageError
from pipeline.printable import printable
from pipeline.reports.plots import can_plot, curves_figure
from pipeline.reports.report import (
    SET_COLUMNS,
    Report,
    TableColumn,
    assigning_lanes,
    format_column,
    report_columns,
)
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
    """The table of lanes as HTML, and one of the sets of those that assign topics."""
    lanes = [(name, f"{lane['rounds']:,}") for name, lane in report.items()]
    made = html_of(("lane", "rounds"), lanes, report, report_columns(report))
    assigning = assigning_lanes(report)
    if assigning:
        goals = [(name, lane["decisions"]["assign"]) for name, lane in assigning.items()]
        made += html_of(("sets of", "goal"), goals, assigning, SET_COLUMNS)
    return made


def html_of(
    titles: Sequence[str],
    begins: Iterable[Sequence[str]],
    report: Report,
    columns: Sequence[TableColumn],
) -> str:
    """A table of lanes: the given first columns, then measures, of which the best is bold."""
    shown = (*titles, *(column[0] for column in columns))
    head = "".join(f"<th>{escape(title)}</th>" for title in shown)
    rows = ["".join(f"<td>{escape(printable(cell))}</td>" for cell in cells) for cells in begins]
    for _, key, scale, digits in columns:
        values = [lane.get(key) for lane in report.values()]
        for number, (text, best) in enumerate(format_column(values, key, scale, digits)):
            rows[number] += f"<td><b>{text}</b></td>" if best else f"<td>{text}</td>"
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
