"""The effect of each setting of Feature Focus: figures 11 to 17 and 19 of the 2010 paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pipeline.experiments.experiment import Result
from pipeline.experiments.figures import Dot, Line, Panel
from pipeline.experiments.index_learning.result_tables import COLUMNS, over_splits
from pipeline.experiments.learner_colours import LEARNER_COLOURS
from pipeline.experiments.tables import Column, Number, Row, Table

MARGINS = (0.0, 0.1, 0.2, 0.5)
W_MINS = (0.001, 0.01, 0.1)
D_MAXES = (1, 2, 3, 5, 10, 25, 100)
DEFAULT_W_MIN, DEFAULT_D_MAX = 0.01, 25
BOOLEAN_MARGINS = (0.0, 1.0, 3.0, 7.0, 15.0)
FEW_PASSES = 5  # where the paper shows the best of several passes, the best of this many

OWN = LEARNER_COLOURS["feature-focus"]
SHADES = ("#9ecae1", "#56a0d3", OWN, "#08306b")  # one shade per margin
MARKERS = ("o", "s", "^", "D")

ResultsByKey = Callable[[str], Sequence[Result]]
"""Returns the results that all splits have for a key."""


class LaneRun(NamedTuple):
    """A lane, the number of passes to train it for, and the key of its results."""

    key: str
    spec: str
    passes: int
    on_training: bool = False


def margin_key(margin: float) -> str:
    """The key of the default settings with this margin."""
    return f"margin={margin:g}"


def margin_runs(passes: int) -> list[LaneRun]:
    """Every margin, measured after each pass on the training and the test examples."""
    return [
        LaneRun(margin_key(margin), f"feature-focus:margin={margin:g}", passes, True)
        for margin in MARGINS
    ]


def constraint_runs(margin: float, passes: int) -> list[LaneRun]:
    """Every value of w_min and of d_max except the defaults."""
    base = f"feature-focus:margin={margin:g}"
    light = [
        LaneRun(f"w_min={w:g}", f"{base},w_min={w:g}", passes) for w in W_MINS if w != DEFAULT_W_MIN
    ]
    return light + [
        LaneRun(f"d_max={d}", f"{base},d_max={d}", 1) for d in D_MAXES if d != DEFAULT_D_MAX
    ]


def unconstrained_run(margin: float) -> LaneRun:
    """No connection is dropped, and every connection votes."""
    return LaneRun("unconstrained", f"feature-focus:margin={margin:g},w_min=0,d_max=0", 1)


def option_runs(margin: float) -> list[LaneRun]:
    """Without leak, without rating, and Boolean features with their own margins."""
    base = f"feature-focus:margin={margin:g}"
    boolean = [
        LaneRun(f"boolean-{m:g}", f"feature-focus:margin={m:g},boolean=true", FEW_PASSES)
        for m in BOOLEAN_MARGINS
    ]
    return [
        LaneRun("no-leak", f"{base},leak=false", 1),
        LaneRun("no-rating", f"{base},rating=false", 1),
        *boolean,
    ]


def best_within(results: Sequence[Result], passes: int) -> tuple[int, dict[str, Number]]:
    """The pass with the best mean R1 among the first `passes`, and its measures."""
    most = min(passes, *(len(result["passes"]) for result in results))
    measures = [over_splits(results, number) for number in range(most)]
    best = max(range(most), key=lambda number: measures[number]["r1"].value)
    return best + 1, measures[best]


BEST = (
    Column("best", "best R1", 3, with_deviation=True, better=1),
    Column("best_pass", "at pass", 0),
)


def w_min_table(name: str, title: str, of: ResultsByKey, default: str, passes: int) -> Table:
    """The effect of w_min as in figure 13: the best R1 within the first passes."""
    rows = []
    for w in W_MINS:
        results = of(default if w == DEFAULT_W_MIN else f"w_min={w:g}")
        at, best = best_within(results, passes)
        ours = {**over_splits(results, 0), "best": best["r1"], "best_pass": Number(at)}
        rows.append(Row(f"w_min {w:g}", ours))
    notes = [
        f"'best R1' is the best of the first {passes} passes, chosen by the mean R1 on the test "
        "examples as in figure 13. The other columns are measured after one pass."
    ]
    columns = (*COLUMNS, *BEST) if passes > 1 else COLUMNS
    return Table(f"w-min-{name}", title, columns, rows, notes if passes > 1 else ())


def d_max_table(name: str, title: str, of: ResultsByKey, default: str) -> Table:
    """The effect of d_max after one pass, as in figure 12."""
    keys = [default if d == DEFAULT_D_MAX else f"d_max={d}" for d in D_MAXES]
    rows = [
        Row(f"d_max {d}", over_splits(of(key), 0)) for d, key in zip(D_MAXES, keys, strict=True)
    ]
    return Table(f"d-max-{name}", title, COLUMNS, rows)


def settings_panel(title: str, table: Table, values: Sequence[float]) -> Panel:
    """R1 of the rows of a table against the setting that each row stands for."""
    points = [(x, row.ours["r1"]) for x, row in zip(values, table.rows, strict=True)]
    line = Line("Feature Focus", OWN, "-", "o", points)
    return Panel(title, lines=[line], log=True)


def passes_table(name: str, title: str, of: ResultsByKey, passes: int) -> Table:
    """R1 on training and test examples after each pass, by margin (figures 14 and 19)."""
    columns = [Column(f"p{number}", f"pass {number}", 3) for number in range(1, passes + 1)]
    rows = []
    for margin in MARGINS:
        measured = [over_splits(of(margin_key(margin)), number) for number in range(passes)]
        for what, key in (("test", "r1"), ("training", "train_r1")):
            ours = {f"p{i}": one[key] for i, one in enumerate(measured, 1)}
            rows.append(Row(f"margin {margin:g}, {what}", ours))
    return Table(f"passes-{name}", title, columns, rows)


def passes_panel(title: str, table: Table) -> Panel:
    """The rows of the table of passes, as lines of a figure."""
    lines = []
    for number, row in enumerate(table.rows):
        style = "-" if number % 2 == 0 else ":"
        points = [(float(key.removeprefix("p")), value) for key, value in row.ours.items()]
        colour, marker = SHADES[number // 2], MARKERS[number // 2]
        lines.append(Line(row.label, colour, style, marker, points))
    return Panel(title, lines=lines)


def options_table(
    name: str, title: str, of: ResultsByKey, default: str, paper: Mapping[str, Mapping[str, Number]]
) -> Table:
    """Each option turned off in turn, Boolean features, and IND (figures 11 and 15 to 17)."""
    labels = {
        "default": "default options",
        "unconstrained": "w_min 0, no d_max",
        "no-leak": "no leak",
        "no-rating": "no rating",
        "independent": "IND",
        **{f"boolean-{m:g}": f"Boolean, margin {m:g}" for m in BOOLEAN_MARGINS},
    }
    rows = [
        Row(label, over_splits(of(default if key == "default" else key), 0), paper.get(key, {}))
        for key, label in labels.items()
    ]
    passed = {m: best_within(of(f"boolean-{m:g}"), FEW_PASSES) for m in BOOLEAN_MARGINS}
    margin = max(passed, key=lambda m: passed[m][1]["r1"].value)
    at, best = passed[margin]
    note = (
        f"All rows are measured after one pass. With Boolean features the best R1 within "
        f"{FEW_PASSES} passes, by the mean on the test examples, is {best['r1'].value:.3f}, with "
        f"margin {margin:g} at pass {at}."
    )
    return Table(f"options-{name}", title, COLUMNS, rows, [note])


def options_panel(title: str, table: Table) -> Panel:
    """R1 of the rows of the table of options, as dots of a figure."""
    dots = []
    for row in table.rows:
        colour = LEARNER_COLOURS["independent"] if row.label == "IND" else OWN
        dots.append(Dot(row.label, colour, row.ours["r1"], row.paper.get("r1")))
    return Panel(title, dots=dots)
