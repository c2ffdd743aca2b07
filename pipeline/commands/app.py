"""Assembles the commands of this package into a program."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from pipeline.commands.bench import bench_command
from pipeline.commands.corpora import corpora_app
from pipeline.commands.curves import curves_app
from pipeline.commands.diff import diff_command
from pipeline.commands.experiment import experiment_command
from pipeline.commands.export import export_app
from pipeline.commands.inspect import inspect_command
from pipeline.commands.lanes import lanes_command
from pipeline.commands.plain_command import PlainCommand
from pipeline.commands.plan import plan_command
from pipeline.commands.profiles import profiles_command
from pipeline.commands.rank import rank_command
from pipeline.commands.replay import replay_command
from pipeline.commands.report import report_command
from pipeline.commands.serve import serve_command
from pipeline.printable import printable
from pipeline.release import describe_release
from pipeline.replay.playback import KafkaPlayer

NAME = "wirerank"


def new_app(kafka_player: KafkaPlayer | None = None) -> typer.Typer:
    """Build the program; without a `kafka_player`, `replay --kafka` is refused."""
    app = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_show_locals=False,  # local variables may hold passwords
        callback=common_options,
    )
    app.command("replay", cls=PlainCommand, context_settings={"obj": kafka_player})(replay_command)
    app.command("rank", cls=PlainCommand)(rank_command)
    app.command("serve", cls=PlainCommand)(serve_command)
    app.command("lanes")(lanes_command)
    app.command("profiles", cls=PlainCommand)(profiles_command)
    app.command("experiment", cls=PlainCommand)(experiment_command)
    app.command("report", cls=PlainCommand)(report_command)
    app.command("inspect", cls=PlainCommand)(inspect_command)
    app.command("diff", cls=PlainCommand)(diff_command)
    app.command("bench", cls=PlainCommand)(bench_command)
    app.command("plan", cls=PlainCommand)(plan_command)
    app.add_typer(corpora_app, name="corpora")
    app.add_typer(curves_app, name="curves")
    app.add_typer(export_app, name="export")
    return app


def show_version(asked: bool) -> None:
    """Print the version and exit."""
    if asked:
        typer.echo(describe_release())
        raise typer.Exit


def common_options(
    asked: Annotated[
        bool,
        typer.Option(
            "--version", callback=show_version, is_eager=True, help="Show version and commit."
        ),
    ] = False,
) -> None:
    """Rank the topics of every document of a text stream the moment it arrives."""


def run_app(app: typer.Typer) -> None:
    """Run the program with the arguments of this process."""
    try:
        app(prog_name=NAME)
    except OSError as error:
        # Standard output is full or closed: discard what Python would still write to it at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            where = error.filename or "an output"
            where = printable(str(where))
            typer.echo(f"wirerank: {where} cannot be written: {error.strerror}.", err=True)
        sys.exit(1)
