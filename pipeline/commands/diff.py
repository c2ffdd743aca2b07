"""`wirerank diff`: what changed between two models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import orjson
import typer

from pipeline.commands.failure import fail
from pipeline.errors import UsageError
from pipeline.storage.container import DamagedError
from pipeline.weights.difference import compare
from pipeline.weights.difference_tables import difference_text

MAX_TOP = 1_000_000


def diff_command(
    a: Annotated[Path, typer.Argument(metavar="A", help="A model or a snapshot.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="The model or snapshot to compare.")],
    top: Annotated[
        int,
        typer.Option(
            min=1, max=MAX_TOP, metavar="N", help="Show at most N topics or terms in each list."
        ),
    ] = 10,
    machine: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what changed from model A to model B.

    Terms, topics and settings are compared, and lanes of the same name: rounds, average losses,
    options, and how far the weights of each topic have moved.
    """
    try:
        difference = compare(a, b, top)
    except UsageError as error:
        fail(str(error))
    except DamagedError as error:
        fail(f"{error}.", 1)
    if machine:
        typer.echo(orjson.dumps(difference, option=orjson.OPT_INDENT_2).decode())
    else:
        typer.echo(difference_text(difference))
