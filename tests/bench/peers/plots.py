"""The growth plots: two pictures of small diagrams, one for time and one for memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.bench.peers.growth import Grown, curves, panels
from tests.bench.peers.runner import Store

COLOURS = {
    "Wirerank soft-arow": "#0b5394",
    "Wirerank mmp:loss=1": "#3d85c6",
    "Wirerank default lanes (three)": "#9fc5e8",
    "Vowpal Wabbit --multilabel_oaa": "#b45f06",
    "Vowpal Wabbit --plt": "#e69138",
    "scikit-learn partial_fit": "#38761d",
    "fastText, batch": "#8e7cc3",
    "River LogisticRegression": "#990000",
    "River Perceptron": "#cc6666",
}
WIDTH, HEIGHT, DPI = 12.0, 7.4, 110


def draw(store: Store, path: Path, unit: str, value: Callable[[Grown], float]) -> None:
    """Draw one picture: a diagram for each thing that grows, and the key in the last place."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    figure, places = plt.subplots(2, 3, figsize=(WIDTH, HEIGHT), layout="constrained")
    flat = list(places.flat)
    for place, panel in zip(flat, panels(), strict=False):
        drawn = curves(store, panel)
        for name, points in drawn.items():
            place.plot(
                [p.at for p in points], [value(p) for p in points],
                color=COLOURS[name], marker="o", markersize=3.5, linewidth=1.6,
            )  # fmt: skip
        place.set_xscale("log")
        place.set_yscale("log")
        ticks = sorted({p.at for points in drawn.values() for p in points})
        place.xaxis.set_major_locator(FixedLocator(ticks))
        place.xaxis.set_minor_locator(NullLocator())
        for axis in (place.xaxis, place.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.10g}"))
        place.set_title(f"{panel.name} ({panel.about})", fontsize=9)
        place.set_xlabel(panel.name, fontsize=9)
        place.set_ylabel(unit, fontsize=9)
        place.tick_params(labelsize=8)
        place.grid(color="#e4e4e4", linewidth=0.6)
        place.spines[["top", "right"]].set_visible(False)
    flat[-1].axis("off")
    handles = [Line2D([], [], color=c, marker="o", markersize=3.5) for c in COLOURS.values()]
    flat[-1].legend(handles, list(COLOURS), loc="center", frameon=False, fontsize=9)
    figure.savefig(path, dpi=DPI)
    plt.close(figure)


def draw_all(store: Store, folder: Path) -> None:
    """Draw both pictures."""
    draw(store, folder / "growth-time.png", "processor us per document", lambda p: p.microseconds)
    draw(store, folder / "growth-memory.png", "peak MiB", lambda p: p.mib)
