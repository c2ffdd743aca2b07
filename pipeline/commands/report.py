"""`wirerank report`: one page of all experiments that were run so far."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.commands.failure import fail
from pipeline.errors import UsageError
from pipeline.experiments.results_folder import RECORD, RESULTS
from pipeline.snapshots.inspection_tables import shown
from pipeline.storage.output_files import STANDARD_OUTPUT, check_outputs, write_whole

if TYPE_CHECKING:
    from pipeline.experiments.report.experiment_folders import ExperimentFolder

NAME = "report.html"


def report_command(
    folder: Annotated[
        Path, typer.Argument(help="The folder that experiments wrote their folders to.")
    ] = Path("experiments"),
    out: Annotated[
        Path | None,
        typer.Option(
            help=f"Write the page here (default: {NAME} in the folder; - is standard output)."
        ),
    ] = None,
) -> None:
    """Make one HTML page of all experiments below a folder, to look at and to send.

    What cannot be read is named on the page and on standard error; the exit code is then 1.
    """
    from pipeline.experiments.report.experiment_folders import find_experiments  # noqa: PLC0415
    from pipeline.experiments.report.page import page  # noqa: PLC0415 - slow to import

    out = out or folder / NAME
    if not folder.is_dir():
        fail(
            f"{folder} is no folder; expected the --out of `wirerank experiment`, or one above it."
        )
    found = find_experiments(folder)
    if not found:
        fail(f"{folder} holds no results of `wirerank experiment`, nor do the folders in it.")
    try:
        check_outputs([out], [one.path / name for one in found for name in (RESULTS, RECORD)])
    except UsageError as error:
        fail(str(error))
    write_whole(out, page(found))
    for line in (line for one in found for line in problems(one)):
        typer.echo(f"wirerank: {shown(line, 4096)}", err=True)
    if out != STANDARD_OUTPUT:
        count = sum(1 for one in found if one.results)
        typer.echo(f"{out}: {count} of {len(found)} experiments")
    if any(one.problem for one in found):
        raise typer.Exit(1)


def problems(found: ExperimentFolder) -> list[str]:
    """What of an experiment is not in the page."""
    if found.problem:
        return [f"{found.path}/{found.problem}; it is left out."]
    files = (*(picture.file for picture in found.pictures), *found.numbers)
    return [
        f"{found.path}/{file.problem}; it is not in the page." for file in files if file.problem
    ]
