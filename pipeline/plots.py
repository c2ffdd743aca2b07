"""Learning curves as a picture. Matplotlib comes with the `experiments` extra."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from pathlib import Path

from pipeline.errors import UsageError
from pipeline.lanes import Lane
from pipeline.outputs import write_whole

LOSSES = (
    ("loss1", 100, "loss1: rankings with an error, %"),
    ("loss2", 1, "loss2: wrong pairs"),
    ("loss3", 100, "loss3: share of pairs wrong, %"),
)
# A palette that stays apart for most kinds of colour blindness (Okabe and Ito 2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")


def can_plot() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def check_plot(path: Path) -> None:
    """Refuse a picture that cannot be drawn, before the run that it is to show."""
    if not can_plot():
        raise UsageError(
            "--plot needs matplotlib, which is not installed: pip install 'wirerank[experiments]'"
        )
    if path.suffix not in (".png", ".svg", ".pdf"):
        raise UsageError(f"{path} cannot be drawn: its name must end in .png, .svg or .pdf.")


def sparse(value: float) -> bool:
    """Whether a value between two powers of ten deserves a number: those that begin with 2 or 5."""
    return f"{value:e}"[0] in "25"


def plot_curves(path: Path, lanes: Sequence[Lane], title: str) -> None:
    """Draw the round-averaged losses of all lanes against the rounds, on a log axis."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import

    figure = Figure(figsize=(13, 4.8), layout="constrained")
    shown = title if len(title) <= 60 else f"...{title[-57:]}"
    figure.suptitle(f"Round-averaged loss: {shown}", fontsize=12)
    for axis, (loss, scale, label) in zip(figure.subplots(1, 3), LOSSES, strict=True):
        positive = False
        for number, lane in enumerate(lanes):
            points = list(lane.curve.all_points())
            values = [scale * (point.values[loss] or 0.0) for point in points]
            positive |= any(values)
            colour = COLOURS[number % len(COLOURS)]
            style = ("-", "--", ":")[number // len(COLOURS) % 3]
            rounds = [point.round for point in points]
            axis.plot(rounds, values, style, color=colour, linewidth=1.8, label=lane.name)
        axis.set_xscale("log")
        if loss == "loss1" or not positive:
            axis.set_ylim(bottom=0)
        else:
            # The first rounds would hide all that comes after; where there is no loss, no line.
            axis.set_yscale("log", nonpositive="mask")
            axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axis.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if sparse(value) else "")
        axis.set_xlabel("round (log scale)")
        axis.set_title(f"{label} ({axis.get_yscale()} scale)", fontsize=10)
        axis.grid(True, alpha=0.3)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix.removeprefix("."), dpi=120)
    write_whole(path, drawn.getvalue())
