"""`wirerank export`: take something out of a model, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.commands import options
from pipeline.commands.completion import complete_profile
from pipeline.commands.failure import fail
from pipeline.commands.plain_command import PlainCommand
from pipeline.errors import UsageError
from pipeline.models.from_snapshot import model_from_snapshot
from pipeline.models.model_file import write_model
from pipeline.printable import printable
from pipeline.storage.container import DamagedError
from pipeline.weights.export import export_weights

export_app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Take something out of a model, for other programs.",
)


@export_app.callback()
def export_command() -> None:
    """Take something out of a model, for other programs."""


@export_app.command("weights", cls=PlainCommand)
def weights_command(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A model that `wirerank replay --save` has written, a snapshot, or the folder in "
            "which the workers of a stream keep their snapshots.",
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="The file to write: .npz for numpy; .csv or .csv.gz is a table.",
        ),
    ],
    lane: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The lane; needed if the model has several."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write the weights that a lane ranks with.

    The files have the names of terms and topics. Their documentation has the lines of numpy that
    rank a document with them.
    """
    try:
        written = export_weights(
            model, target, lane, lambda line: typer.echo(f"wirerank: {printable(line)}", err=True)
        )
    except UsageError as error:
        fail(str(error))
    except DamagedError as error:
        fail(f"{error}.", 1)
    if not quiet:
        typer.echo(
            f"written: {printable(str(target))} (lane {printable(written.lane)}, "
            f"{written.terms:,} terms, {written.topics:,} topics)",
            err=True,
        )


@export_app.command("model", cls=PlainCommand)
def model_command(
    snapshot: Annotated[
        Path,
        typer.Argument(
            metavar="SNAPSHOT",
            help="A snapshot of a worker, or the folder in which the workers of a stream keep "
            "their snapshots. A worker may be running.",
        ),
    ],
    target: Annotated[Path, typer.Argument(metavar="MODEL", help="The model to write.")],
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="PROFILE",
            help="The profile of the stream, if the snapshot does not name it.",
            autocompletion=complete_profile,
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Make a model of what a stream has learned.

    A replay can go on from the model (--resume), and another stream can begin with it (initial).
    """
    try:
        model = model_from_snapshot(
            snapshot,
            profile,
            lambda line: typer.echo(f"wirerank: {printable(line)}", err=True),
        )
        write_model(target, model)
    except UsageError as error:
        fail(str(error))
    except DamagedError as error:
        fail(f"{error}.", 1)
    if not quiet:
        lanes = ", ".join(model.all_lanes)
        typer.echo(
            f"written: {printable(str(target))} (lanes {printable(lanes)}, "
            f"{model.content['documents']:,} documents)",
            err=True,
        )
