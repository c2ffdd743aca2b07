"""The figures of topic ranking: learning curves, and precision against recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.experiments.experiment import Result
from pipeline.experiments.figures import new_figure
from pipeline.experiments.topic_ranking.methods import MethodResults, TopicMethod
from pipeline.experiments.topic_ranking.result_tables import mean_precision_recall
from pipeline.reports.plots import COLOURS, TOPIC_PANELS, has_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEGEND_COLUMNS = 4


def style_of(method: TopicMethod) -> str:
    """The line style of a method; methods that the paper does not have are dashed."""
    return "--" if method.added else "-"


def legend_below(figure: Figure) -> None:
    """One legend for all panels."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    columns = min(LEGEND_COLUMNS, len(labels))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=9)


def draw_losses(title: str, curves: Sequence[tuple[TopicMethod, Result]]) -> Figure:
    """Learning curves of the online learners: round-averaged losses, rounds on a log axis."""
    figure, axes = new_figure(len(TOPIC_PANELS), 3.2)
    figure.set_size_inches(14.0, 4.9)
    figure.suptitle(title, fontsize=12)
    for axis, panel in zip(axes, TOPIC_PANELS, strict=True):
        for method, curve in curves:
            values = [panel.scale * value for value in curve[panel.measure]]
            axis.plot(
                curve["round"], values, style_of(method), color=method.colour, linewidth=1.7,
                label=method.title,
            )  # fmt: skip
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        if panel.logarithmic:
            axis.set_yscale("log", nonpositive="mask")
            axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axis.yaxis.set_minor_formatter(
                lambda value, _: f"{value:g}" if has_label(value) else ""
            )
        else:
            axis.set_ylim(bottom=0)
        axis.set_xlabel("round (log scale)")
        axis.set_title(f"{panel.label} ({axis.get_yscale()} scale)", fontsize=10)
        axis.grid(True, alpha=0.3)
    legend_below(figure)
    return figure


def draw_precision_recall(title: str, numbers: Sequence[MethodResults]) -> Figure:
    """Document-averaged precision against recall, and an enlargement of the end of the curve."""
    figure, axes = new_figure(2, 3.6)
    figure.suptitle(title, fontsize=12)
    for one in numbers:
        precision, recall = mean_precision_recall(one.folds)
        for axis in axes:
            axis.plot(
                recall, precision, style_of(one.method), color=one.method.colour, linewidth=1.5,
                marker=".", markersize=5, label=one.method.title,
            )  # fmt: skip
    for axis in axes:
        axis.set_xlabel("recall")
        axis.set_ylabel("precision")
        axis.grid(True, alpha=0.3)
    axes[0].set_title("all ranks", fontsize=10)
    axes[0].set_ylim(0, 1)
    axes[1].set_title("recall above 0.9", fontsize=10)
    zoom(axes[1], numbers)
    legend_below(figure)
    return figure


def zoom(axis: Axes, numbers: Sequence[MethodResults]) -> None:
    """Limit the axes to recall above 0.9."""
    shown = [
        precision
        for one in numbers
        for precision, recall in zip(*mean_precision_recall(one.folds), strict=True)
        if recall >= 0.9
    ]
    axis.set_xlim(0.9, 1.0)
    if shown:
        axis.set_ylim(0, 1.08 * max(shown))


def draw_topics_per_document(data: str, counts: Mapping[str, int]) -> Figure:
    """The share of documents by number of topics; on a log axis, because few have many."""
    figure, (axis,) = new_figure(1, 3.0)
    documents = sum(counts.values())
    topics = [int(number) for number in counts]
    shares = [100.0 * count / documents for count in counts.values()]
    axis.bar(topics, shares, color=COLOURS[0], width=0.7)
    for at, share, count in zip(topics, shares, counts.values(), strict=True):
        axis.annotate(
            f"{count:,}", (at, share), (0, 3), textcoords="offset points", ha="center",
            fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_ylim(top=200)
    axis.set_xticks(range(min(topics), max(topics) + 1))
    axis.set_xlabel("topics per document")
    axis.set_ylabel("documents, % (log scale); counts above the bars")
    axis.set_title(f"{data}: topics per document (figure 3)", fontsize=12)
    axis.grid(True, axis="y", alpha=0.3)
    axis.set_axisbelow(True)
    return figure
