"""`wirerank rank`: rank documents with a model, without learning from them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from learners.options import MOST
from pipeline.commands import options
from pipeline.commands.completion import complete_profile
from pipeline.commands.failure import fail
from pipeline.commands.field_options import read_fields
from pipeline.commands.options import DEFAULTS
from pipeline.commands.terminal import TerminalProgress
from pipeline.corpora import SourceError
from pipeline.errors import UsageError
from pipeline.printable import printable, printable_lines
from pipeline.ranking.processes import RankingProcessError
from pipeline.ranking.rank import RankResult, RankSettings, rank
from pipeline.reports.report import lane_table, order_notes, set_table
from pipeline.storage.container import DamagedError
from pipeline.storage.output_files import STANDARD_OUTPUT

MAX_PROCESSES = 512


def rank_command(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A model that `wirerank replay --save` has written, a snapshot, or the folder in "
            "which the workers of a stream keep their snapshots.",
        ),
    ],
    source: Annotated[
        str,
        typer.Argument(
            metavar="[SOURCE]",
            help="The events to rank, as for `wirerank replay`; standard input if it is left out.",
        ),
    ] = "-",
    lane: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Rank with this lane only; repeat for several. Default: all."
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(min=0, max=MOST, metavar="N", help="Topics per ranking; 0 writes all.")
    ] = 10,
    why: Annotated[
        bool, typer.Option("--why", help="Add the terms that contributed most to each score.")
    ] = False,
    evaluate: Annotated[
        bool,
        typer.Option("--evaluate", help="Measure the rankings by the labels of the documents."),
    ] = False,
    rankings: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Write the rankings to this file (JSON lines); - is standard output.",
        ),
    ] = STANDARD_OUTPUT,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --evaluate: write the measures to this file (JSON)."
        ),
    ] = None,
    limit: options.Limit = 0,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="NAME", help="The format of the events. Default: that of the model."
        ),
    ] = None,
    fields: options.Fields = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="PROFILE",
            help="How text becomes terms. Default: as for the model.",
            autocompletion=complete_profile,
        ),
    ] = None,
    dead_letters: options.DeadLetters = DEFAULTS.dead_letters,
    max_event_bytes: options.MaxEventBytes = DEFAULTS.max_event_bytes,
    processes: Annotated[
        int,
        typer.Option(
            min=0,
            max=MAX_PROCESSES,
            metavar="N",
            help="Rank in N processes, which share the model; 0 takes one per core.",
        ),
    ] = 0,
    quiet: options.Quiet = False,
) -> None:
    """Rank documents with a model, without learning from them.

    Every document is ranked as if it came next in the stream of the model. The model stays as it
    is, so rankings do not depend on the order of the documents.
    """
    try:
        settings = RankSettings(
            model=model, source=source, lanes=tuple(lane or ()), rankings=rankings, top=top,
            why=why, evaluate=evaluate, report=report, limit=limit, format=format_,
            fields=read_fields(fields), profile=profile, dead_letters=dead_letters,
            max_event_bytes=max_event_bytes, processes=processes,
        )  # fmt: skip
        progress = TerminalProgress(
            quiet, bar=rankings != STANDARD_OUTPUT or not sys.stdout.isatty()
        )
        show(settings, rank(settings, progress), quiet)
    except (UsageError, SourceError) as error:
        fail(str(error))
    except DamagedError as error:
        fail(f"{error}.", 1)
    except RankingProcessError as error:
        fail(str(error), 1)


def show(settings: RankSettings, result: RankResult, quiet: bool) -> None:
    """Show how a run ended, with the exit code that fits."""
    to_stderr = STANDARD_OUTPUT in (settings.rankings, settings.report)
    if result.report is not None:
        tables = (lane_table(result.report), *order_notes(result.report), set_table(result.report))
        for table in filter(None, tables):
            typer.echo(printable_lines(table), err=to_stderr)
        if not any(lane["rounds"] for lane in result.report.values()):
            typer.echo("nothing was evaluated: no document has a label", err=True)
    if not quiet:
        speed = result.documents / result.seconds if result.seconds > 0 else 0.0
        typer.echo(f"documents {result.documents:,}   documents/s {speed:,.0f}", err=True)
    if result.late_labels:
        typer.echo(f"late labels, which are not used here: {result.late_labels:,}", err=True)
    if result.unknown_labels:
        typer.echo(
            "labels of topics that the model does not know, which count with the score 0: "
            f"{result.unknown_labels:,}",
            err=True,
        )
    letters = result.dead_letters
    if letters.counts:
        reasons = ", ".join(f"{reason} {n:,}" for reason, n in sorted(letters.counts.items()))
        kept = printable(str(letters.path))
        total = f"{letters.counts.total():,} ({reasons})"
        typer.echo(f"events that could not be used, kept in {kept}: {total}", err=True)
    if result.failure is not None:
        fail(str(result.failure), 1)
    if result.interrupted is not None:
        fail("interrupted; the rankings so far are written.", 128 + result.interrupted)
    if not result.documents:
        if letters.counts:
            fail(f"no document could be used; {letters.path} has the reasons.", 1)
        fail("the source has no documents, so nothing was ranked.", 1)
