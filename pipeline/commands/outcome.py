"""How a command ends: with its results shown, what was put aside said, and a fitting exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import typer

from pipeline.replay.replay import Outcome, ReplaySettings
from pipeline.reports.lane_comparison import verdicts
from pipeline.reports.report import comparison, remarks, sizes
from pipeline.storage.output_files import STANDARD_OUTPUT


def fail(message: str, code: int = 2) -> NoReturn:
    """End with a message on standard error."""
    typer.echo(f"wirerank: {message}", err=True)
    raise typer.Exit(code)


def conclude(
    settings: ReplaySettings, outcome: Outcome, quiet: bool, also_written: Sequence[Path] = ()
) -> None:
    """Show the comparison, say what was put aside and where things are, and end accordingly."""
    own = (settings.rankings, settings.curves, settings.report, settings.plot)
    written = [path for path in (*own, *also_written) if path]
    for line in (comparison(outcome.report), *verdicts(outcome.report)):
        typer.echo(line, err=STANDARD_OUTPUT in written)
    if not quiet:
        typer.echo(sizes(outcome.report), err=True)
    for line in remarks(outcome.report):  # what may be missing is said to the quiet too
        typer.echo(line, err=True)
    letters = outcome.dead_letters
    if letters.counts:
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in sorted(letters.counts.items()))
        total = f"{letters.counts.total():,} ({reasons})"
        typer.echo(f"malformed events, put aside in {letters.path}: {total}", err=True)
    names = ", ".join(str(path) for path in written if path != STANDARD_OUTPUT)
    if names and not quiet:
        typer.echo(f"written: {names}", err=True)
    if outcome.failure is not None:
        fail(str(outcome.failure), 1)
    if outcome.interrupted is not None:
        message = "interrupted; the numbers above are those of what was read so far."
        fail(message, 128 + outcome.interrupted)
    if letters.counts and not any(lane["documents"] for lane in outcome.report.values()):
        fail("no event could be used; see the dead letters for the reasons.", 1)
