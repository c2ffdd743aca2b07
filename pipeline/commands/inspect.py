"""`wirerank inspect`: what a snapshot holds, and whether it is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands.failure import fail
from pipeline.errors import UsageError
from pipeline.snapshots.inspection import inspect
from pipeline.snapshots.inspection_tables import as_json, description, listing, printable


def inspect_command(
    snapshot: Annotated[
        Path, typer.Argument(metavar="SNAPSHOT", help="A snapshot, or a folder of snapshots.")
    ],
    machine: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe a snapshot, or check all snapshots of a folder.

    The exit code is 1 if a snapshot is damaged.
    """
    try:
        inspected = inspect(snapshot)
    except UsageError as error:
        fail(printable(str(error), 4096))
    several = snapshot.is_dir()
    if machine:
        typer.echo(as_json(inspected, several))
    elif several:
        typer.echo(listing(inspected))
    elif inspected[0].good:
        typer.echo(description(inspected[0]))
    else:
        fail(printable(f"{inspected[0].problem}.", 4096), 1)
    if not all(one.good for one in inspected):
        raise typer.Exit(1)
