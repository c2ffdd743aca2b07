"""`wirerank experiment`: the experiments of the papers, with their numbers beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from learners.options import MOST, OptionError
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

MOST_SPLITS = 1000
FOLDER = "experiments"


def experiment_command(
    name: Annotated[str | None, typer.Argument(help="Which one, or all; see --list.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="A folder to look for its corpora in, or one of them as kind:PATH; repeatable.",
            metavar="PATH",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder of its results (default: experiments/NAME); of all, of their folders."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=MOST, help="Splits and sequences are drawn from it.")
    ] = 0,
    splits: Annotated[
        int,
        typer.Option(
            min=0, max=MOST_SPLITS, help="Random splits or repetitions; 0: as many as the paper."
        ),
    ] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help="A part of the data, few passes, main rows only.")
    ] = False,
    unconstrained: Annotated[
        bool,
        typer.Option("--unconstrained", help="feature-focus-words: also without limits (slow)."),
    ] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="Throw away the results that --out has.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No narration.")] = False,
) -> None:
    """Run an experiment of a paper: tables on standard output; JSON, CSV and pictures in --out.

    The same command goes on where an interrupted one stopped.
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
        found = find_data(kind.needs, data or ())
        ended = run(kind(settings, found, progress.say), out or Path(FOLDER) / name, anew, progress)
    except (UsageError, OptionError, SourceError) as error:
        fail(str(error))
    conclude(ended, quiet)


def experiment_all(choices: RunAllOptions, quiet: bool) -> None:
    """Run all that can be run; the exit code is 1 if one failed."""
    progress = TerminalProgress(quiet, unit="parts")
    try:
        outcomes, signal = run_all(EXPERIMENTS, choices, progress, lambda one: show(one, quiet))
    except UsageError as error:
        fail(str(error))
    typer.echo(summary_table(outcomes))
    words = {line.outcome for line in outcomes}
    if LEFT_OUT in words and not quiet:
        typer.echo("`wirerank corpora` says where to get corpora.", err=True)
    if signal is not None:
        fail("interrupted; the same command goes on from there.", 128 + signal)
    if FAILED in words:
        raise typer.Exit(1)
    if RAN not in words:
        fail("none could be run.")
    if not quiet:
        typer.echo(f"one page of all: wirerank report {choices.out}", err=True)


def listing() -> list[str]:
    """Every experiment with what it needs."""
    lines = []
    for name, kind in EXPERIMENTS.items():
        lines += [name, f"  what   {kind.title}", f"  paper  {kind.paper}"]
        lines += [f"  data   {need.kind}:PATH, {need.title}" for need in kind.needs] or [
            "  data   none, it makes its own"
        ]
    return lines


def conclude(ended: RunOutcome, quiet: bool) -> None:
    """Show what was found, or say how to go on."""
    if ended.findings is None:
        code = 128 + (ended.signal or 2)
        fail(
            f"interrupted; {ended.done} of {ended.parts} parts are done and kept: the same command "
            "goes on from there.",
            code,
        )
    show(ended, quiet)


def show(ended: RunOutcome, quiet: bool) -> None:
    """Print what was found, and say where it is."""
    if ended.findings is None:
        return
    for table in ended.findings.tables:
        typer.echo(f"{table.text()}\n")
    for remark in ended.findings.remarks:
        typer.echo(remark)
    if not quiet:
        typer.echo(f"written: {', '.join(str(path) for path in ended.written)}", err=True)
