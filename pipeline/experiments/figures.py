"""The figures of experiments: methods side by side, and a measure against a setting."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from pipeline.experiments.tables import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Dot(NamedTuple):
    """A row of a comparison: our number, and the paper's if there is one."""

    label: str
    colour: str
    ours: Number
    paper: Number | None


class Line(NamedTuple):
    """The values of a measure against a setting or a round."""

    label: str
    colour: str
    style: str
    marker: str
    points: Sequence[tuple[float, Number]]


class Panel(NamedTuple):
    """One of several charts side by side."""

    title: str
    dots: Sequence[Dot] = ()
    lines: Sequence[Line] = ()
    log: bool = False


TITLE_CHARACTERS = 36  # per line of a title; labels of methods take half of the width
COLUMN = 2.0  # inches per column of a legend
LEGEND_COLUMNS = 4


def new_figure(panels: int, rows: float, columns: int = 0) -> tuple[Figure, list[Axes]]:
    """A figure with axes side by side, wide enough for a legend with `columns` columns."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415

    mpl.rcParams["svg.hashsalt"] = "wirerank"  # makes the SVG file the same every time
    mpl.rcParams["svg.fonttype"] = "none"
    width = max(6.4, 5.6 * panels, COLUMN * columns)
    figure = Figure(figsize=(width, 1.7 + rows), layout="constrained")
    return figure, list(figure.subplots(1, panels, squeeze=False)[0])


def draw_dots(title: str, measure: str, panels: Sequence[Panel]) -> Figure:
    """One method per line: our number as a filled dot with its deviation, the paper's hollow."""
    most = max(len(panel.dots) for panel in panels)
    figure, axes = new_figure(len(panels), 0.34 * most)
    figure.suptitle(title, fontsize=12)
    for axis, panel in zip(axes, panels, strict=True):
        for place, dot in enumerate(panel.dots):
            axis.errorbar(
                dot.ours.value, place, xerr=dot.ours.deviation, fmt="o", color=dot.colour,
                markersize=7, elinewidth=1.2, capsize=3,
            )  # fmt: skip
            if dot.paper is not None:
                axis.plot(
                    dot.paper.value, place, "D", markerfacecolor="none",
                    markeredgecolor=dot.colour, markersize=8,
                )  # fmt: skip
        axis.set_yticks(range(len(panel.dots)), [dot.label for dot in panel.dots])
        axis.invert_yaxis()
        axis.margins(x=0.08, y=0.08)
        axis.locator_params(axis="x", nbins=6)
        axis.set_xlabel(measure)
        axis.set_title(fill(panel.title, TITLE_CHARACTERS), fontsize=10)
        axis.grid(True, axis="x", alpha=0.3)
    several = any(dot.ours.deviation for panel in panels for dot in panel.dots)
    label = "ours, with standard deviation" if several else "ours"
    ours = axes[0].plot([], [], "o", color="#444444", markersize=7, label=label)
    paper = axes[0].plot(
        [], [], "D", markerfacecolor="none", markeredgecolor="#444444", label="the paper's"
    )
    shown = ours + paper if any(dot.paper for panel in panels for dot in panel.dots) else ours
    figure.legend(handles=shown, loc="outside lower center", ncols=2, fontsize=9)
    return figure


def draw_lines(title: str, setting: str, measure: str, panels: Sequence[Panel]) -> Figure:
    """A measure against a setting, with its standard deviation over the splits."""
    columns = min(LEGEND_COLUMNS, len(panels[0].lines))
    figure, axes = new_figure(len(panels), 2.9, columns)
    figure.suptitle(title, fontsize=12)
    for axis, panel in zip(axes, panels, strict=True):
        for line in panel.lines:
            at = [x for x, _ in line.points]
            deviations = [number.deviation or 0.0 for _, number in line.points]
            axis.errorbar(
                at, [number.value for _, number in line.points],
                yerr=deviations if any(deviations) else None, color=line.colour,
                linestyle=line.style, marker=line.marker, markersize=5, linewidth=1.7,
                elinewidth=0.9, capsize=2, label=line.label,
            )  # fmt: skip
        values = sorted({x for line in panel.lines for x, _ in line.points})
        if panel.log:
            axis.set_xscale("log")
            axis.minorticks_off()
        axis.set_xticks(values, [f"{value:g}" for value in values])
        axis.set_xlabel(setting)
        several = any(number.deviation for line in panel.lines for _, number in line.points)
        axis.set_ylabel(f"{measure}, with std. deviation over splits" if several else measure)
        axis.set_title(panel.title, fontsize=10)
        axis.grid(True, alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9)
    return figure


def draw_bands(title: str, setting: str, measure: str, panels: Sequence[Panel]) -> Figure:
    """Curves, each with a band as wide as the deviation of its points."""
    figure, axes = new_figure(len(panels), 3.4)
    figure.suptitle(title, fontsize=12)
    for axis, panel in zip(axes, panels, strict=True):
        for line in panel.lines:
            at, values = [x for x, _ in line.points], [number.value for _, number in line.points]
            axis.plot(at, values, line.style, color=line.colour, linewidth=1.7, label=line.label)
            if all(number.deviation is not None for _, number in line.points):
                low = [number.value - (number.deviation or 0.0) for _, number in line.points]
                high = [number.value + (number.deviation or 0.0) for _, number in line.points]
                axis.fill_between(at, low, high, color=line.colour, alpha=0.2, linewidth=0)
        if panel.log:
            axis.set_xscale("log")
            axis.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axis.set_ylim(bottom=0)
        axis.set_xlabel(setting)
        axis.set_ylabel(measure)
        axis.set_title(panel.title, fontsize=10)
        axis.grid(True, alpha=0.3)
        axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
    return figure
