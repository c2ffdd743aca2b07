"""Tables of our numbers beside the paper's, as text, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pipeline.reports.report import aligned


class Number(NamedTuple):
    """A mean, and the standard deviation of the averaged values, if it is known."""

    value: float
    deviation: float | None = None


def mean_of(values: Sequence[float]) -> Number:
    """The mean of some values with their sample deviation, which a single value does not have.

    >>> mean_of([1.0, 2.0, 3.0])
    Number(value=2.0, deviation=1.0)
    """
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Number(float(np.mean(values)), deviation)


@dataclass(frozen=True, slots=True)
class Column:
    """A measure: its name, and how it is printed."""

    key: str
    title: str
    digits: int
    with_deviation: bool = False
    better: int = 0  # 1 if higher is better, -1 if lower is better, 0 if neither
    starred_below: float | None = None  # for p values: lower ones get two stars

    def shown(self, number: Number | None, sign: str = "") -> str:
        """A number as text; `n.a.` if there is none."""
        if number is None:
            return "n.a."
        text = f"{number.value:{sign},.{self.digits}f}"
        if self.with_deviation and not sign:
            known = number.deviation is not None
            text += f" +-{number.deviation:.{self.digits}f}" if known else " " * (self.digits + 5)
        return text


@dataclass(frozen=True, slots=True)
class Row:
    """One method or setting: our numbers, and the paper's."""

    label: str
    ours: Mapping[str, Number]
    paper: Mapping[str, Number] = field(default_factory=dict)
    contends: bool = True  # whether it can be the best of a column; a hindsight baseline cannot

    def difference(self, key: str) -> Number | None:
        """Our number minus the paper's."""
        if key not in self.ours or key not in self.paper:
            return None
        return Number(self.ours[key].value - self.paper[key].value)


@dataclass(frozen=True, slots=True)
class Table:
    """Rows and columns under a title; `notes` are printed below the table."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """The table as text: below each row the paper's numbers and the differences, if any."""
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
        """The table as CSV: a line per row and measure."""
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
        """The table for `results.json`; a missing number is null."""
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
    """A number with its deviation, or null."""
    return None if number is None else number._asdict()
