"""Plots of learning curves. Matplotlib comes with the `experiments` extra."""

from __future__ import annotations

import importlib.util
import io
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pipeline.curves.rank_curve import WINDOW, value_of
from pipeline.curves.recent import recent_points
from pipeline.curves.topic_curve import Point
from pipeline.engine.lane import Lane
from pipeline.errors import UsageError
from pipeline.printable import printable
from pipeline.storage.output_files import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Matplotlib reports every font of its cache that was moved since; it then uses another one.
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)


class Panel(NamedTuple):
    """A measure, its unit and title, and whether its axis is logarithmic."""

    measure: str
    scale: int
    label: str
    logarithmic: bool = False


TOPIC_PANELS = (
    Panel("loss1", 100, "loss1: rankings with an error, %"),
    Panel("loss2", 1, "loss2: wrong pairs", logarithmic=True),
    Panel("loss3", 100, "loss3: share of pairs wrong, %", logarithmic=True),
)
RANK_PANELS = (
    Panel("ranking_loss", 1, "rank loss: distance from the true rank"),
    Panel("miss_rate", 100, "miss: ranks not hit, %"),
    Panel("tau_b", 1, f"tau-b of the last {WINDOW:,} rounds"),
)
FIRST_RECENT = 128  # round; before it, an eighth of the rounds is too few for an average
# Colours that most colour-blind readers can tell apart (Okabe and Ito 2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")


def can_plot() -> bool:
    """Return whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def check_plot(path: Path) -> None:
    """Raise an error before the run if its plot cannot be drawn."""
    if not can_plot():
        raise UsageError(
            "--plot needs matplotlib, which is not installed: pip install 'wirerank[experiments]'"
        )
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise UsageError(
            f"The plot cannot be written to {path}: its name must end in .png, .svg or .pdf."
        )


def has_label(value: float) -> bool:
    """Return whether an axis shows this value between two powers of ten: it begins with 2 or 5."""
    return f"{value:e}"[0] in "25"


def plot_curves(path: Path, lanes: Sequence[Lane], title: str) -> None:
    """Draw the curves of all lanes, and write them to a file."""
    drawn = io.BytesIO()
    figure = curves_figure(lanes, title)
    figure.savefig(drawn, format=path.suffix.removeprefix("."), dpi=120)
    write_whole(path, drawn.getvalue())


def curves_figure(lanes: Sequence[Lane], title: str) -> Figure:
    """Return a figure of the round-averaged losses of all lanes, over rounds on a log axis.

    Thin lines are averages over the last eighth of the rounds, vertical lines are changes. Topic
    lanes and ordinal lanes have different losses, so each kind has its own row of panels.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import

    numbered = list(enumerate(lanes))
    ordinal = [(number, lane) for number, lane in numbered if lane.is_ordinal]
    of_topics = [(number, lane) for number, lane in numbered if not lane.is_ordinal]
    kinds = [(TOPIC_PANELS, of_topics), (RANK_PANELS, ordinal)]
    rows = [(panels, members) for panels, members in kinds if members]
    figure = Figure(figsize=(13, 0.4 + 4.4 * len(rows)), layout="constrained")
    title = printable(title)
    shown = title if len(title) <= 60 else f"...{title[-57:]}"
    # Names are shown as they are: matplotlib would take text between dollar signs for a formula.
    figure.suptitle(f"Round-averaged loss: {shown}", fontsize=12, parse_math=False)
    lines: list[Line2D] = []
    for axes, (panels, members) in zip(
        figure.subplots(len(rows), 3, squeeze=False), rows, strict=True
    ):
        drawn = [draw(axis, panel, members) for axis, panel in zip(axes, panels, strict=True)]
        lines += drawn[0]
    names = [printable(lane.name) for _, members in rows for _, lane in members]
    key = "thin: averages over the last eighth of the rounds"
    if any(lane.curve.changes.kept for lane in lanes):
        key += "; vertical: changes"
    legend = figure.legend(
        lines, names, loc="outside lower center", ncols=4, fontsize=8, title_fontsize=8, title=key
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def draw(axis: Axes, panel: Panel, lanes: Sequence[tuple[int, Lane]]) -> list[Line2D]:
    """Draw one measure of lanes, whose numbers choose the colours; return the lines of averages."""
    drawn = list[float]()
    lines: list[Line2D] = []
    for number, lane in lanes:
        points = list(lane.curve.all_points())
        values = [value_at(point, panel) for point in points]
        drawn += values
        colour = COLOURS[number % len(COLOURS)]
        style = ("-", "--", ":")[number // len(COLOURS) % 3]
        rounds = [point.round for point in points]
        lines += axis.plot(rounds, values, style, color=colour, linewidth=1.8, label=lane.name)
        recent = [point for point in recent_points(lane.curve) if point.round >= FIRST_RECENT]
        last_values = [value_at(point, panel) for point in recent]
        drawn += last_values
        last_rounds = [point.round for point in recent]
        axis.plot(last_rounds, last_values, style, color=colour, linewidth=0.7, alpha=0.6)
        for change in lane.curve.changes.kept:
            axis.axvline(change.round, color=colour, linewidth=0.9, linestyle="--", alpha=0.8)
    axis.set_xscale("log")
    if panel.logarithmic and any(value > 0 for value in drawn):
        axis.set_yscale("log", nonpositive="mask")  # a loss of 0 has no place on a log axis
        axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if has_label(value) else "")
    elif not any(value < 0 for value in drawn):  # tau-b can be negative
        axis.set_ylim(bottom=0)
    axis.set_xlabel("round (log scale)")
    axis.set_title(f"{panel.label} ({axis.get_yscale()} scale)", fontsize=10)
    axis.grid(True, alpha=0.3)
    return lines


def value_at(point: Point, panel: Panel) -> float:
    """Return the value of a measure at a point of a curve; NaN, which is not drawn, if none."""
    value = value_of(point.values, panel.measure)
    return float("nan") if value is None else panel.scale * value
