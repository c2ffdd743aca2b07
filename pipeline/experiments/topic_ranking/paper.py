"""Topic ranking as Crammer and Singer (2002) compare it: their methods, measures and tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pipeline.curves.topic_curve import Curve
from pipeline.experiments.claim_outcomes import FAILED, HELD, TIED
from pipeline.experiments.experiment import Result
from pipeline.experiments.methods import COLOUR
from pipeline.experiments.tables import Column, Number, Row, Table, mean_of
from pipeline.reports.plots import COLOURS

PAPER = "Crammer and Singer, A New Family of Online Algorithms for Category Ranking, SIGIR 2002"
LOSSES = ("loss1", "loss2", "loss3")
MEASURES = (*LOSSES, "one_error", "coverage", "average_precision", "max_f1")
HIGHER_IS_BETTER = ("average_precision", "max_f1")
IN_PERCENT = ("loss1", "loss3", "one_error")
NOT_IN_PRINT = "The rows of MMP for loss 1 and 2 are lost in the copy of the paper at hand."


class Method(NamedTuple):
    """A row of the tables: how it is called, drawn, and run if it is a lane."""

    key: str
    label: str
    colour: str
    spec: str = ""
    added: bool = False  # the paper does not have it

    @property
    def title(self) -> str:
        """Its label in tables and pictures."""
        return f"{self.label} (added)" if self.added else self.label


ROCCHIO = Method("rocchio", "Rocchio", COLOURS[7], "rocchio")
ONLINE = (
    Method("perceptron", "Perceptron", COLOUR["perceptron"], "perceptron"),
    Method("mmp1", "MMP loss 1", COLOURS[0], "mmp:loss=1"),
    Method("mmp2", "MMP loss 2", COLOURS[2], "mmp:loss=2"),
    Method("mmp3", "MMP loss 3", COLOURS[5], "mmp:loss=3"),
)
OF_THE_PAPER = (ROCCHIO, *ONLINE)

COLUMNS = (
    Column("loss1_percent", "loss1 %", 2, better=-1),
    Column("loss2", "loss2", 3, better=-1),
    Column("loss3_percent", "loss3 %", 3, better=-1),
    Column("one_error_percent", "OneErr %", 2, better=-1),
    Column("coverage", "Coverage", 3, better=-1),
    Column("average_precision", "AvgP", 4, better=1),
    Column("max_f1", "maxF1", 4, better=1),
)
OF_LOSSES, OF_RETRIEVAL = COLUMNS[:3], COLUMNS[3:]


def column_of(measure: str) -> str:
    """The key of the column that shows a measure."""
    return f"{measure}_percent" if measure in IN_PERCENT else measure


SHOWN_IN = {
    measure: column
    for measure in MEASURES
    for column in COLUMNS
    if column.key == column_of(measure)
}


def measured(curve: Curve) -> Result:
    """The measures of a test set that a curve went over, with precision and recall at each rank."""
    values = {**curve.last().values, "max_f1": curve.max_f1()}
    precision, recall = curve.precision_recall()
    return {
        "measures": {measure: values[measure] for measure in MEASURES},
        "precision": precision.tolist(),
        "recall": recall.tolist(),
    }


def learning_curve(curve: Curve) -> Result:
    """The round-averaged losses at the rounds that a curve keeps."""
    points = list(curve.all_points())
    return {
        "round": [point.round for point in points],
        **{loss: [point.values[loss] for point in points] for loss in LOSSES},
    }


class Numbers(NamedTuple):
    """What was measured of a method: a `measured` for each fold or test set."""

    method: Method
    folds: Sequence[Result]

    def of(self, measure: str) -> list[float]:
        """A measure, fold by fold."""
        return [fold["measures"][measure] for fold in self.folds]

    def row(self, paper: Mapping[str, float]) -> Row:
        """Its means beside the paper's, which are as printed: some are in percent."""
        ours = {}
        for measure in MEASURES:
            scale = 100.0 if measure in IN_PERCENT else 1.0
            ours[column_of(measure)] = mean_of([scale * value for value in self.of(measure)])
        return Row(self.method.title, ours, {key: Number(value) for key, value in paper.items()})


def two_tables(
    numbers: Sequence[Numbers], paper: Mapping[str, Mapping[str, float]], first: int, data: str
) -> list[Table]:
    """The paper's two tables of a corpus, the first of which has this number; then its claims.

    `paper` has its figures by the key of the method and then of the column.
    """
    rows = [one.row(paper.get(one.method.key, {})) for one in numbers]
    tables = []
    kinds = (("learning-theoretic", OF_LOSSES), ("retrieval", OF_RETRIEVAL))
    for number, (kind, columns) in enumerate(kinds, first):
        keys = {column.key for column in columns}
        some = [
            Row(row.label, row.ours, {k: v for k, v in row.paper.items() if k in keys})
            for row in rows
        ]
        title = f"Table {number}: {data}, {kind} measures of the test documents"
        tables.append(Table(f"table-{number}", title, columns, some, (NOT_IN_PRINT,)))
    claims = orderings([one for one in numbers if not one.method.added])
    return [tables[0], replace(tables[1], notes=(NOT_IN_PRINT, *claims))]


def mean_curves(curves: Sequence[Result]) -> Result:
    """Learning curves of several folds averaged, at the rounds that all of them have."""
    common = set.intersection(*(set(curve["round"]) for curve in curves))
    rounds = sorted(common)
    found: Result = {"round": rounds}
    for loss in LOSSES:
        values = [dict(zip(curve["round"], curve[loss], strict=True)) for curve in curves]
        found[loss] = [float(np.mean([one[at] for one in values])) for at in rounds]
    return found


def mean_precision_recall(folds: Sequence[Result]) -> tuple[list[float], list[float]]:
    """Precision and recall at each rank, averaged over the folds."""
    precision, recall = (
        np.mean([fold[name] for fold in folds], axis=0).tolist() for name in ("precision", "recall")
    )
    return precision, recall


def curves_csv(curves: Sequence[tuple[Method, Result]]) -> bytes:
    """A line for each method and kept round."""
    rows = (
        (method.title, *row)
        for method, curve in curves
        for row in zip(curve["round"], *(curve[loss] for loss in LOSSES), strict=True)
    )
    return lines_of(("method", "round", *LOSSES), rows)


def precision_recall_csv(numbers: Sequence[Numbers]) -> bytes:
    """A line for each method and rank."""
    rows = (
        (one.method.title, rank, *both)
        for one in numbers
        for rank, both in enumerate(zip(*mean_precision_recall(one.folds), strict=True), 1)
    )
    return lines_of(("method", "rank", "precision", "recall"), rows)


def lines_of(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A CSV file."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return file.getvalue().encode()


class Ordering(NamedTuple):
    """That some methods are best (or worst) on some measures, as the paper says."""

    text: str
    methods: tuple[str, ...]
    measures: tuple[str, ...]
    worst: bool = False

    def standing(self, means: Mapping[str, Mapping[str, float]], measure: str) -> int:
        """1 if it is so on a measure, -1 if not, 0 if others are level in the digits shown."""
        column = SHOWN_IN[measure]
        scale = 100.0 if measure in IN_PERCENT else 1.0
        sign = -column.better if self.worst else column.better
        shown = {key: round(sign * scale * means[key][measure], column.digits) for key in means}
        mine = max(shown[key] for key in self.methods)
        others = max(value for key, value in shown.items() if key not in self.methods)
        return (mine > others) - (mine < others)

    def line(self, means: Mapping[str, Mapping[str, float]]) -> str:
        """As it is printed; on several measures it is no better than on the worst of them."""
        found = {measure: self.standing(means, measure) for measure in self.measures}
        word = {1: HELD, 0: TIED, -1: FAILED}[min(found.values())]
        level = [
            SHOWN_IN[measure].title.removesuffix(" %") for measure in found if not found[measure]
        ]
        more = f" Level with another on {' and '.join(level)}." if level else ""
        return f"{word}: {self.text}.{more}"


ORDERINGS = (
    Ordering(
        "MMP for loss 1 is best on loss1, OneErr, AvgP and maxF1",
        ("mmp1",),
        ("loss1", "one_error", "average_precision", "max_f1"),
    ),
    Ordering("MMP for loss 2 or 3 is best on Coverage", ("mmp2", "mmp3"), ("coverage",)),
    Ordering("the Perceptron is worst on Coverage", ("perceptron",), ("coverage",), worst=True),
)


def orderings(numbers: Sequence[Numbers]) -> list[str]:
    """What the paper says of the order of its five methods, and whether it held."""
    means = {
        one.method.key: {measure: float(np.mean(one.of(measure))) for measure in MEASURES}
        for one in numbers
    }
    return [ordering.line(means) for ordering in ORDERINGS]


def against(name: str, title: str, pairs: Sequence[tuple[Numbers, Numbers]]) -> list[Table]:
    """Of each pair the first less the second, and in how many folds the first is better."""
    differences, wins = [], []
    for one, other in pairs:
        label = f"{one.method.label} - {other.method.label}"
        less, won = {}, {}
        for measure in MEASURES:
            sign = -1.0 if measure in HIGHER_IS_BETTER else 1.0
            scale = 100.0 if measure in IN_PERCENT else 1.0
            found = np.array(one.of(measure)) - np.array(other.of(measure))
            less[column_of(measure)] = mean_of((scale * found).tolist())
            won[column_of(measure)] = Number(float(np.count_nonzero(sign * found < 0)))
        differences.append(Row(label, less, contends=False))
        wins.append(Row(label, won))
    note = "Below 0 is better, but for AvgP and maxF1 above 0."
    counted = [Column(column.key, column.title.removesuffix(" %"), 0) for column in COLUMNS]
    count = len(pairs[0][0].folds)
    return [
        Table(f"against-{name}", f"{title}: differences", COLUMNS, differences, (note,)),
        Table(f"wins-{name}", f"{title}: of {count} folds those it is better in", counted, wins),
    ]


def topics_per_document(
    name: str, data: str, counts: Mapping[str, int], paper_mean: float
) -> Table:
    """How many documents have so many topics, and the mean beside the paper's.

    `counts` are by the number of topics, which is text: it went through JSON.
    """
    documents = sum(counts.values())
    rows = [
        Row(
            f"{topics} topic{'s' if topics != '1' else ''}",
            {"documents": Number(count), "percent": Number(100.0 * count / documents)},
        )
        for topics, count in counts.items()
    ]
    mean = sum(int(topics) * count for topics, count in counts.items()) / documents
    rows.append(Row("mean", {"topics": Number(mean)}, {"topics": Number(paper_mean)}))
    columns = (
        Column("documents", "documents", 0),
        Column("percent", "%", 2),
        Column("topics", "topics", 3),
    )
    title = f"Figure 3: {data}, topics of {documents:,} documents"
    return Table(name, title, columns, rows)
