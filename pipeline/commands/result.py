"""Showing how a replay ended, with the exit code that fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from pipeline.commands.failure import fail
from pipeline.printable import printable, printable_lines
from pipeline.replay.replay import ReplayResult
from pipeline.replay.settings import ReplaySettings
from pipeline.reports.lane_changes import change_lines
from pipeline.reports.lane_comparison import comparison_lines
from pipeline.reports.report import (
    lane_table,
    order_notes,
    run_notes,
    run_totals,
    set_table,
    topic_tables,
)
from pipeline.storage.output_files import STANDARD_OUTPUT


def show_result(
    settings: ReplaySettings, result: ReplayResult, quiet: bool, also_written: Sequence[Path] = ()
) -> None:
    """Show the table of lanes, the dead letters and the written files; exit if one failed."""
    outputs = (settings.rankings, settings.curves, settings.report, settings.plot, *also_written)
    written = [path for path in outputs if path]
    report = result.report
    changes, topics = change_lines(report), topic_tables(report)
    tables = (lane_table(report), *order_notes(report), *comparison_lines(report))
    lines = (*tables, *changes, set_table(report), *topics)
    for line in filter(None, lines):
        typer.echo(printable_lines(line), err=STANDARD_OUTPUT in written)
    if not quiet:
        typer.echo(run_totals(result.report), err=True)
    for line in run_notes(result.report):  # --quiet does not hide what may be missing
        typer.echo(printable_lines(line), err=True)
    letters = result.dead_letters
    if letters.counts:
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in sorted(letters.counts.items()))
        total = f"{letters.counts.total():,} ({reasons})"
        kept = printable(str(letters.path))
        typer.echo(f"events that could not be used, kept in {kept}: {total}", err=True)
    missing = {Path(error.filename) for error in result.unwritten if error.filename}
    saved = [settings.save] if settings.save else []
    names = ", ".join(
        printable(str(path))
        for path in (*written, *saved)
        if path != STANDARD_OUTPUT and path not in missing
    )
    if names and not quiet:
        typer.echo(f"written: {names}", err=True)
    for error in result.unwritten[1:]:
        where = printable(str(error.filename or "an output"))
        typer.echo(f"wirerank: {where} cannot be written: {error.strerror}.", err=True)
    if result.unwritten:
        raise result.unwritten[0]  # the program ends with its message
    if result.failure is not None:
        fail(str(result.failure), 1)
    if result.interrupted is not None:
        message = "interrupted; the numbers above cover the events read so far."
        fail(message, 128 + result.interrupted)
    if not any(lane["documents"] for lane in result.report.values()):
        if letters.counts:
            fail(f"no document could be used; {letters.path} has the reasons.", 1)
        fail("the source has no documents, so nothing was ranked.", 1)
