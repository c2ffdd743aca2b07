"""`wirerank inspect`: what a snapshot holds, and whether it is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands.failure import fail
from pipeline.errors import UsageError
from pipeline.snapshots.inspection import inspect
from pipeline.snapshots.inspection_tables import as_json, description, listing, shown


def inspect_command(
    snapshot: Annotated[Path, typer.Argument(help="A snapshot, or a folder that holds some.")],
    machine: Annotated[bool, typer.Option("--json", help="As JSON, for machines.")] = False,
) -> None:
    """Look into a snapshot, or check all in a folder; the exit code is 1 if one is damaged."""
    try:
        found = inspect(snapshot)
    except UsageError as error:
        fail(shown(str(error), 4096))
    several = snapshot.is_dir()
    if machine:
        typer.echo(as_json(found, several))
    elif several:
        typer.echo(listing(found))
    elif found[0].good:
        typer.echo(description(found[0]))
    else:
        fail(shown(f"{found[0].problem}.", 4096), 1)
    if not all(one.good for one in found):
        raise typer.Exit(1)
