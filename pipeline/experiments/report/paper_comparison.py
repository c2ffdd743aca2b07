"""How ours stand beside the paper's: number by number, and claim by claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.experiments.claim_outcomes import FAILED, HELD, OPEN, TIED
from pipeline.experiments.report.results_schema import Column, Number, Results, Row, Table

BETTER, WORSE, LEVEL, UNJUDGED = "better", "worse", "level", "unjudged"
VERDICTS = {HELD: "held", TIED: "level", FAILED: "did not hold", OPEN: "not settled"}


def value(number: Number | None, column: Column) -> float | None:
    """A number as it is shown: to so many digits, which is how papers print theirs."""
    known = number.known if number is not None else None
    return None if known is None else round(known, column.digits)


def difference(row: Row, column: Column) -> float | None:
    """Ours less the paper's."""
    ours, paper = (numbers.get(column.key) for numbers in (row.ours, row.paper))
    if ours is None or paper is None or ours.known is None or paper.known is None:
        return None
    return round(ours.known - paper.known, column.digits)


def judged(found: float, column: Column) -> str:
    """What a difference to the paper means."""
    if found == 0:
        return LEVEL
    if not column.better:
        return UNJUDGED
    return BETTER if found * column.better > 0 else WORSE


def compared(results: Results) -> Counter[str]:
    """How many of our numbers are better than the paper's, and so on."""
    return Counter(
        judged(found, column)
        for table in results.tables.values()
        for column in table.shown_columns
        for row in table.rows
        if (found := difference(row, column)) is not None
    )


def best(table: Table, column: Column) -> float | None:
    """The best of ours in a column; None where nothing is best, or all are level."""
    rows = (row for row in table.rows if row.contends)
    known = {one for row in rows if (one := value(row.ours.get(column.key), column)) is not None}
    if not column.better or len(known) < 2:
        return None
    return max(known) if column.better > 0 else min(known)


def verdict_of(note: str) -> tuple[str, str] | None:
    """The verdict that a note begins with, and the rest of it."""
    for word in VERDICTS:
        if note.startswith((f"{word}:", f"{word} (")):
            return word, note.removeprefix(word).lstrip(": ")
    return None


def claims(results: Results) -> Counter[str]:
    """How many claims held, by verdict."""
    notes: Sequence[str] = [note for table in results.tables.values() for note in table.notes]
    return Counter(found[0] for note in notes if (found := verdict_of(note)))
