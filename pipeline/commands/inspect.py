"""`wirerank inspect`: what a snapshot or model holds, and whether it is damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands.failure import fail
from pipeline.errors import UsageError
from pipeline.printable import printable as escaped
from pipeline.snapshots.inspection import inspect
from pipeline.snapshots.inspection_tables import as_json, description, listing, printable
from pipeline.storage.container import DamagedError
from pipeline.weights.heaviest import heaviest_terms, heaviest_topics
from pipeline.weights.heaviest_tables import heaviest_json, heaviest_text

MAX_TOP = 1_000_000


def inspect_command(
    snapshot: Annotated[
        Path,
        typer.Argument(
            metavar="SNAPSHOT", help="A snapshot, a model, or a folder of snapshots."
        ),
    ],
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="Show the heaviest terms of this topic.")
    ] = None,
    term: Annotated[
        str | None,
        typer.Option(metavar="TERM", help="Show the topics that this term weighs most for."),
    ] = None,
    lane: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="With --topic or --term: look at this lane only; repeat for several.",
        ),
    ] = None,
    top: Annotated[
        int,
        typer.Option(
            min=1, max=MAX_TOP, metavar="N",
            help="With --topic or --term: show N terms or topics that raise scores, and N that "
            "lower them.",
        ),
    ] = 10,
    machine: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:  # fmt: skip
    """Show what a model or a folder of snapshots holds.

    With --topic or --term, look inside instead: the weights that rank. The exit code is 1 if a
    snapshot is damaged.
    """
    if topic is not None and term is not None:
        fail("Give --topic or --term, not both.")
    if topic is not None or term is not None:
        look_inside(snapshot, topic, term, lane or [], top, machine)
    elif lane:
        fail("--lane needs --topic or --term.")
    else:
        describe(snapshot, machine)


def look_inside(
    path: Path, topic: str | None, term: str | None, lanes: list[str], top: int, machine: bool
) -> None:
    """Print the heaviest terms of a topic, or the topics of a term."""

    def warn(line: str) -> None:
        typer.echo(f"wirerank: {escaped(line)}", err=True)

    try:
        if topic is not None:
            entry, asked = "term", {"topic": topic}
            heaviest = heaviest_terms(path, topic, lanes, top, warn)
        else:
            entry, asked = "topic", {"term": term or ""}
            heaviest = heaviest_topics(path, term or "", lanes, top, warn)
    except UsageError as error:
        fail(str(error))
    except DamagedError as error:
        fail(f"{error}.", 1)
    typer.echo((heaviest_json if machine else heaviest_text)(asked, entry, heaviest))


def describe(snapshot: Path, machine: bool) -> None:
    """Print what a snapshot or the snapshots of a folder hold."""
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
