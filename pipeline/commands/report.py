"""`wirerank report`: one page with the results of all experiments."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.commands.failure import fail
from pipeline.errors import UsageError
from pipeline.experiments.results_folder import RECORD, RESULTS
from pipeline.snapshots.inspection_tables import printable
from pipeline.storage.output_files import STANDARD_OUTPUT, check_outputs, write_whole

if TYPE_CHECKING:
    from pipeline.experiments.report.experiment_folders import ExperimentFolder

NAME = "report.html"


def report_command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="A folder with the results of `wirerank experiment`."
        ),
    ] = Path("experiments"),
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"Write the page to this file (default: {NAME} in FOLDER); - is standard output.",
        ),
    ] = None,
) -> None:
    """Make one HTML page of all experiments in a folder.

    Results that cannot be read are named on the page and on standard error. The exit code is then
    1.
    """
    from pipeline.experiments.report.experiment_folders import find_experiments  # noqa: PLC0415
    from pipeline.experiments.report.page import page  # noqa: PLC0415 - slow to import

    out = out or folder / NAME
    if not folder.is_dir():
        fail(f"{folder} is not a folder; expected one with the results of `wirerank experiment`.")
    experiments = find_experiments(folder)
    if not experiments:
        fail(f"neither {folder} nor the folders in it have results of `wirerank experiment`.")
    try:
        check_outputs([out], [one.path / name for one in experiments for name in (RESULTS, RECORD)])
    except UsageError as error:
        fail(str(error))
    write_whole(out, page(experiments))
    for line in (line for one in experiments for line in problems(one)):
        typer.echo(f"wirerank: {printable(line, 4096)}", err=True)
    if out != STANDARD_OUTPUT:
        count = sum(1 for one in experiments if one.results)
        typer.echo(f"{printable(str(out), 4096)}: {count} of {len(experiments)} experiments")
    if any(one.problem for one in experiments):
        raise typer.Exit(1)


def problems(experiment: ExperimentFolder) -> list[str]:
    """Describe the files of an experiment that cannot be shown on the page."""
    if experiment.problem:
        return [f"{experiment.path}/{experiment.problem}; the experiment is left out."]
    files = (*(picture.file for picture in experiment.pictures), *experiment.numbers)
    return [
        f"{experiment.path}/{file.problem}; the file is left out." for file in files if file.problem
    ]
