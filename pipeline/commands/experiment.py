"""`wirerank experiment`: run what a paper ran, and compare the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learners.options import MOST, OptionError
from pipeline.commands import options
from pipeline.commands.completion import complete_experiment
from pipeline.commands.failure import fail
from pipeline.commands.terminal import TerminalProgress
from pipeline.corpora import SourceError
from pipeline.errors import UsageError
from pipeline.experiments.data_files import find_data
from pipeline.experiments.experiment import Settings
from pipeline.experiments.registry import EXPERIMENTS
from pipeline.experiments.run_all import (
    ALL,
    FAILED,
    LEFT_OUT,
    RAN,
    RunAllOptions,
    run_all,
    summary_table,
)
from pipeline.experiments.runner import RunOutcome, check_packages, run
from pipeline.printable import printable, printable_lines

MOST_SPLITS = 1000
FOLDER = "experiments"


def experiment_command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The experiment to run, or all; --list shows the names.",
            autocompletion=complete_experiment,
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="A folder with corpora, or one corpus as KIND:PATH; repeat for several.",
            metavar="PATH",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the results to this folder (default: experiments/NAME). With the name all, "
            "to one folder per experiment in it (default: experiments).",
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(min=0, max=MOST, metavar="N", help="The seed of random splits and sequences."),
    ] = 0,
    splits: Annotated[
        int,
        typer.Option(
            min=0,
            max=MOST_SPLITS,
            metavar="N",
            help="Random splits or repetitions; 0 takes as many as the paper.",
        ),
    ] = 0,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Use part of the data, few passes and the main rows only."),
    ] = False,
    unconstrained: Annotated[
        bool,
        typer.Option(
            "--unconstrained", help="feature-focus-words: also run without limits (slow)."
        ),
    ] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="Delete earlier results in --out and start over.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Run an experiment of a paper and compare the numbers.

    Tables go to standard output; JSON, CSV and figures go to the folder --out. After an
    interruption the same command continues.
    """
    if list_:
        typer.echo("\n".join(listing()))
        return
    if name == ALL:
        folder = out or Path(FOLDER)
        experiment_all(
            RunAllOptions(data or (), folder, seed, splits, quick, unconstrained, anew), quiet
        )
        return
    if name not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        fail(f"expected the name of an experiment: {known}, or {ALL}. Got {name or 'none'}.")
    kind = EXPERIMENTS[name]
    settings = Settings(seed, splits or kind.splits[quick], quick, unconstrained)
    progress = TerminalProgress(quiet, unit="parts")
    try:
        check_packages(kind)
        corpora = find_data(kind.needs, data or ())
        outcome = run(
            kind(settings, corpora, progress.say), out or Path(FOLDER) / name, anew, progress
        )
    except (UsageError, OptionError, SourceError) as error:
        fail(str(error))
    finish(outcome, quiet)


def experiment_all(choices: RunAllOptions, quiet: bool) -> None:
    """Run every experiment whose data can be found; the exit code is 1 if one failed."""
    progress = TerminalProgress(quiet, unit="parts")
    try:
        outcomes, signal = run_all(
            EXPERIMENTS, choices, progress, lambda one: show_findings(one, quiet)
        )
    except UsageError as error:
        fail(str(error))
    typer.echo(summary_table(outcomes))
    words = {line.outcome for line in outcomes}
    if LEFT_OUT in words and not quiet:
        typer.echo("`wirerank corpora` shows where to get corpora.", err=True)
    if signal is not None:
        fail("interrupted; run the same command again to continue.", 128 + signal)
    if FAILED in words:
        raise typer.Exit(1)
    if RAN not in words:
        fail("no experiment could be run; the table above gives the reasons.")
    if not quiet:
        folder = printable(str(choices.out))
        typer.echo(f"for one page of all results, run: wirerank report {folder}", err=True)


def listing() -> list[str]:
    """Describe every experiment and the data it needs, line by line."""
    lines = []
    for name, kind in EXPERIMENTS.items():
        lines += [name, f"  what   {kind.title}", f"  paper  {kind.paper}"]
        lines += [f"  data   {need.kind}:PATH, {need.title}" for need in kind.needs] or [
            "  data   none: the experiment generates its own"
        ]
    return lines


def finish(outcome: RunOutcome, quiet: bool) -> None:
    """Show the findings, or how to continue an interrupted experiment."""
    if outcome.findings is None:
        code = 128 + (outcome.signal or 2)
        fail(
            f"interrupted after {outcome.done} of {outcome.parts} parts; run the same command "
            "again to continue.",
            code,
        )
    show_findings(outcome, quiet)


def show_findings(outcome: RunOutcome, quiet: bool) -> None:
    """Print tables and remarks, and the names of the written files."""
    if outcome.findings is None:
        return
    for table in outcome.findings.tables:
        typer.echo(f"{printable_lines(table.text())}\n")
    for remark in outcome.findings.remarks:
        typer.echo(printable_lines(remark))
    if not quiet:
        names = ", ".join(printable(str(path)) for path in outcome.written)
        typer.echo(f"written: {names}", err=True)
