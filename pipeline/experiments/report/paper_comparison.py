"""Our results compared with the paper's: number by number, and claim by claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.experiments.claim_outcomes import FAILED, HELD, OPEN, TIED
from pipeline.experiments.report.results_schema import Column, Number, Results, Row, Table

BETTER, WORSE, LEVEL, UNJUDGED = "better", "worse", "level", "unjudged"
VERDICTS = {HELD: "held", TIED: "level", FAILED: "did not hold", OPEN: "not settled"}


def value(number: Number | None, column: Column) -> float | None:
    """A number rounded to the digits of its column, as papers print theirs."""
    known = number.known if number is not None else None
    return None if known is None else round(known, column.digits)


def difference(row: Row, column: Column) -> float | None:
    """Our number minus the paper's."""
    ours, paper = (numbers.get(column.key) for numbers in (row.ours, row.paper))
    if ours is None or paper is None or ours.known is None or paper.known is None:
        return None
    return round(ours.known - paper.known, column.digits)


def judged(gap: float, column: Column) -> str:
    """Whether a difference from the paper is better, worse, level or not judged."""
    if gap == 0:
        return LEVEL
    if not column.better:
        return UNJUDGED
    return BETTER if gap * column.better > 0 else WORSE


def compared(results: Results) -> Counter[str]:
    """How many of our numbers are better, worse, level or not judged."""
    return Counter(
        judged(gap, column)
        for table in results.tables.values()
        for column in table.shown_columns
        for row in table.rows
        if (gap := difference(row, column)) is not None
    )


def best(table: Table, column: Column) -> float | None:
    """The best of our numbers in a column; None if no direction is better, or all are level."""
    rows = (row for row in table.rows if row.contends)
    known = {one for row in rows if (one := value(row.ours.get(column.key), column)) is not None}
    if not column.better or len(known) < 2:
        return None
    return max(known) if column.better > 0 else min(known)


def verdict_of(note: str) -> tuple[str, str] | None:
    """The outcome that a note about a claim begins with, and the rest; None for other notes."""
    for word in VERDICTS:
        if note.startswith((f"{word}:", f"{word} (")):
            return word, note.removeprefix(word).lstrip(": ")
    return None


def claims(results: Results) -> Counter[str]:
    """How many claims have each outcome."""
    notes: Sequence[str] = [note for table in results.tables.values() for note in table.notes]
    return Counter(verdict[0] for note in notes if (verdict := verdict_of(note)))
