"""`wirerank config`: check a configuration, or print an example."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from consumers.commands.configuration import configured
from consumers.logs import describe_settings
from pipeline.commands.failure import fail


def config_command(
    path: Annotated[
        Path | None, typer.Argument(metavar="CONFIG", help="The configuration file to check.")
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Print a configuration to start from.")
    ] = False,
) -> None:
    """Check a configuration, or print an example.

    Prints the settings in force: those of the file, overridden by the environment, with defaults
    for the rest. Passwords are not shown.
    """
    if example and path is None:
        typer.echo(
            files("consumers").joinpath("example.toml").read_text(encoding="utf-8"), nl=False
        )
    elif path is not None and not example:
        for line in describe_settings(configured(path)):
            typer.echo(line)
    else:
        fail("expected either a configuration file or --example.")
