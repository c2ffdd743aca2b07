"""The tables and CSV files of topic ranking."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pipeline.experiments.experiment import Result
from pipeline.experiments.tables import Column, Number, Row, Table, mean_of
from pipeline.experiments.topic_ranking.columns import (
    COLUMNS,
    OF_LOSSES,
    OF_RETRIEVAL,
    column_of,
)
from pipeline.experiments.topic_ranking.methods import (
    HIGHER_IS_BETTER,
    IN_PERCENT,
    LOSSES,
    MEASURES,
    MethodResults,
    TopicMethod,
)
from pipeline.experiments.topic_ranking.ordering_claims import claim_lines

NOT_IN_PRINT = (
    "The paper's rows of MMP for loss 1 and loss 2 are missing: they are illegible in the copy of "
    "the paper that was used."
)


def table_row(results: MethodResults, paper: Mapping[str, float]) -> Row:
    """The means of a method beside the paper's numbers, some of which are in percent."""
    ours = {}
    for measure in MEASURES:
        scale = 100.0 if measure in IN_PERCENT else 1.0
        ours[column_of(measure)] = mean_of([scale * value for value in results.values(measure)])
    return Row(results.method.title, ours, {key: Number(value) for key, value in paper.items()})


def two_tables(
    results: Sequence[MethodResults], paper: Mapping[str, Mapping[str, float]], first: int,
    data: str,
) -> list[Table]:  # fmt: skip
    """The paper's two tables of a corpus, numbered from `first`; below the second its claims.

    `paper` holds the paper's numbers by the key of the method, then by the key of the column.
    """
    rows = [table_row(one, paper.get(one.method.key, {})) for one in results]
    tables = []
    kinds = (("learning-theoretic", OF_LOSSES), ("retrieval", OF_RETRIEVAL))
    for number, (kind, columns) in enumerate(kinds, first):
        keys = {column.key for column in columns}
        shown = [
            Row(row.label, row.ours, {k: v for k, v in row.paper.items() if k in keys})
            for row in rows
        ]
        title = f"Table {number}: {data}, {kind} measures on the test documents"
        tables.append(Table(f"table-{number}", title, columns, shown, (NOT_IN_PRINT,)))
    claims = claim_lines([one for one in results if not one.method.added])
    return [tables[0], replace(tables[1], notes=(NOT_IN_PRINT, *claims))]


def difference_tables(
    name: str, title: str, pairs: Sequence[tuple[MethodResults, MethodResults]]
) -> list[Table]:
    """Two tables: the difference first - second of each pair, and the folds the first one wins."""
    differences, wins = [], []
    for one, other in pairs:
        label = f"{one.method.label} - {other.method.label}"
        means, won = {}, {}
        for measure in MEASURES:
            sign = -1.0 if measure in HIGHER_IS_BETTER else 1.0
            scale = 100.0 if measure in IN_PERCENT else 1.0
            by_fold = np.array(one.values(measure)) - np.array(other.values(measure))
            means[column_of(measure)] = mean_of((scale * by_fold).tolist())
            won[column_of(measure)] = Number(float(np.count_nonzero(sign * by_fold < 0)))
        differences.append(Row(label, means, contends=False))
        wins.append(Row(label, won))
    note = (
        "A negative difference means that the first method is better; for AvgP and maxF1 a "
        "positive one does."
    )
    counted = [Column(column.key, column.title.removesuffix(" %"), 0) for column in COLUMNS]
    count = len(pairs[0][0].folds)
    return [
        Table(f"against-{name}", f"{title}: differences", COLUMNS, differences, (note,)),
        Table(
            f"wins-{name}", f"{title}: folds (of {count}) in which the first is better", counted,
            wins,
        ),
    ]  # fmt: skip


def topics_per_document(
    name: str, data: str, counts: Mapping[str, int], paper_mean: float
) -> Table:
    """How many documents have one topic, two topics and so on, and the mean beside the paper's.

    The keys of `counts` are numbers of topics, as text because they went through JSON.
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
    title = f"Figure 3: {data}, topics per document ({documents:,} documents)"
    return Table(name, title, columns, rows)


def mean_curves(curves: Sequence[Result]) -> Result:
    """The mean of the learning curves of several folds, at the rounds that all of them have."""
    rounds = sorted(set.intersection(*(set(curve["round"]) for curve in curves)))
    means: Result = {"round": rounds}
    for loss in LOSSES:
        values = [dict(zip(curve["round"], curve[loss], strict=True)) for curve in curves]
        means[loss] = [float(np.mean([one[at] for one in values])) for at in rounds]
    return means


def mean_precision_recall(folds: Sequence[Result]) -> tuple[list[float], list[float]]:
    """Precision and recall at each rank, averaged over the folds."""
    precision, recall = (
        np.mean([fold[name] for fold in folds], axis=0).tolist() for name in ("precision", "recall")
    )
    return precision, recall


def curves_csv(curves: Sequence[tuple[TopicMethod, Result]]) -> bytes:
    """Learning curves as CSV: a line per method and kept round."""
    rows = (
        (method.title, *row)
        for method, curve in curves
        for row in zip(curve["round"], *(curve[loss] for loss in LOSSES), strict=True)
    )
    return csv_file(("method", "round", *LOSSES), rows)


def precision_recall_csv(results: Sequence[MethodResults]) -> bytes:
    """Precision and recall as CSV: a line per method and rank."""
    rows = (
        (one.method.title, rank, *both)
        for one in results
        for rank, both in enumerate(zip(*mean_precision_recall(one.folds), strict=True), 1)
    )
    return csv_file(("method", "rank", "precision", "recall"), rows)


def csv_file(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """The content of a CSV file."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return file.getvalue().encode()
