"""Tables of ours beside the paper's: printed, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pipeline.reports.report import aligned


class Number(NamedTuple):
    """A mean, and the deviation of what it is the mean of, if that is known."""

    value: float
    deviation: float | None = None


def mean_of(values: Sequence[float]) -> Number:
    """The mean of splits with their sample deviation; one split has none.

    >>> mean_of([1.0, 2.0, 3.0])
    Number(value=2.0, deviation=1.0)
    """
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Number(float(np.mean(values)), deviation)


@dataclass(frozen=True, slots=True)
class Column:
    """A measure: how it is called, and how many digits of it are worth printing."""

    key: str
    title: str
    digits: int
    with_deviation: bool = False
    better: int = 0  # 1 if more is, -1 if less is, 0 if neither or if it depends
    starred_below: float | None = None  # of probabilities: two stars where one is significant

    def shown(self, number: Number | None, sign: str = "") -> str:
        """A number as text; what does not exist is `n.a.`."""
        if number is None:
            return "n.a."
        text = f"{number.value:{sign},.{self.digits}f}"
        if self.with_deviation and not sign:
            known = number.deviation is not None
            text += f" +-{number.deviation:.{self.digits}f}" if known else " " * (self.digits + 5)
        return text


@dataclass(frozen=True, slots=True)
class Row:
    """One method or setting: what we measured, and what the paper says of it."""

    label: str
    ours: Mapping[str, Number]
    paper: Mapping[str, Number] = field(default_factory=dict)
    contends: bool = True  # for the best of a column; what is known only in hindsight does not

    def difference(self, key: str) -> Number | None:
        """Ours less the paper's."""
        if key not in self.ours or key not in self.paper:
            return None
        return Number(self.ours[key].value - self.paper[key].value)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and columns under a title; `notes` are printed below it."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """As it is printed: below each row the paper's, where it has one, and the difference."""
        lines = [("", *(column.title for column in self.columns))]
        for row in self.rows:
            lines.append((row.label, *(c.shown(row.ours.get(c.key)) for c in self.columns)))
            if row.paper:
                paper = (c.shown(row.paper.get(c.key)) for c in self.columns)
                lines.append(("  paper", *paper))
                differences = (c.shown(row.difference(c.key), "+") for c in self.columns)
                lines.append(("  difference", *differences))
        return "\n".join((self.title, aligned(lines), *self.notes))

    def csv(self) -> bytes:
        """A line for each row and measure."""
        file = io.StringIO(newline="")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("row", "measure", "ours", "deviation", "paper", "paper_deviation"))
        for row in self.rows:
            for key in (c.key for c in self.columns):
                ours, paper = row.ours.get(key), row.paper.get(key)
                if ours is not None or paper is not None:
                    cells = (*(ours or ("", None)), *(paper or ("", None)))
                    writer.writerow((row.label, key, *("" if c is None else c for c in cells)))
        return file.getvalue().encode()

    def json(self) -> dict[str, Any]:
        """For machines; what does not exist is null."""
        return {
            "title": self.title,
            "columns": [asdict(column) for column in self.columns],
            "rows": [
                {
                    "label": row.label,
                    "contends": row.contends,
                    "ours": {c.key: as_json(row.ours.get(c.key)) for c in self.columns},
                    "paper": {c.key: as_json(row.paper.get(c.key)) for c in self.columns},
                    "difference": {c.key: as_json(row.difference(c.key)) for c in self.columns},
                }
                for row in self.rows
            ],
            "notes": list(self.notes),
        }


def as_json(number: Number | None) -> dict[str, float | None] | None:
    """A number with its deviation."""
    return None if number is None else number._asdict()
