"""`wirerank restore`: a stream goes on from a backup."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from consumers.commands.configuration import configured, stream_named
from consumers.commands.options import LogFormatOption, LogLevelOption, StreamName, WithoutLanes
from consumers.logs import LogFormat, LogLevel, set_up_logging
from pipeline.commands.failure import fail
from pipeline.errors import UsageError
from pipeline.printable import printable

if TYPE_CHECKING:
    from consumers.backup.restoring import Backup


def restore_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file that `wirerank backup` wrote.")
    ],
    path: Annotated[
        Path | None, typer.Argument(metavar="CONFIG", help="The configuration of the workers.")
    ] = None,
    stream: StreamName = None,
    print_config: Annotated[
        bool,
        typer.Option(
            "--print-config",
            help="Print the configuration in the backup, for a stream that begins with the backup.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything and say what would be done.")
    ] = False,
    rank_again: Annotated[
        bool,
        typer.Option(
            "--rank-again",
            help="Go on although there are rankings or offsets of a later time: documents after "
            "the backup are ranked again.",
        ),
    ] = False,
    without: WithoutLanes = None,
    log_level: LogLevelOption = LogLevel.WARNING,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Let a stream go on from a backup.

    This is for a stream whose log or snapshots are lost. All workers of the stream must be stopped.
    If the log is there, the snapshots are restored. If it is lost, a new one begins where the
    backup ended. Nothing that exists is overwritten.
    """
    set_up_logging("restore", log_level, log_format)
    from consumers.audit import audit  # noqa: PLC0415 - slow to import
    from consumers.backup.errors import BackupError  # noqa: PLC0415
    from consumers.backup.lane_choice import without_lanes  # noqa: PLC0415
    from consumers.backup.restoring import Restore, read_backup  # noqa: PLC0415
    from consumers.kafka.errors import KafkaError, describe_error  # noqa: PLC0415
    from consumers.worker_loop import FATAL  # noqa: PLC0415

    try:
        backup = read_backup(file)
        if print_config:
            typer.echo(configuration_of(backup), nl=False)
            return
        if path is None:
            fail("expected a configuration file, or --print-config to get the one in the backup.")
        config = configured(path)
        left_out = tuple(without or ())
        settings = without_lanes(stream_named(config, stream), left_out)
        restore = Restore(config, settings, backup, rank_again, left_out)
        plan = restore.plan()
        if not dry_run:
            what = {"stream": settings.name, "file": file, "rank_again": rank_again}
            with audit("restore", config.audit, **what, without=left_out, steps=plan.steps):
                restore.carry_out(plan)
    except UsageError as error:
        fail(str(error))
    except BackupError as error:
        fail(f"{error} Nothing was restored.", 1)
    except FATAL as error:
        fail(f"{error}. Nothing was restored.", 1)
    except (KafkaError, OSError) as error:
        fail(f"{describe_error(error)}.", 1)
    for step in plan.steps:
        typer.echo(printable(step, 500))
    typer.echo("dry run: nothing was changed" if dry_run else "restored: start the workers")


def configuration_of(backup: Backup) -> str:
    """The configuration in a backup, for a stream that begins with it."""
    from consumers.backup.configuration_text import with_initial  # noqa: PLC0415
    from consumers.backup.errors import BackupError  # noqa: PLC0415

    try:
        return with_initial(backup.place.configuration, str(backup.path.absolute()))
    except ValueError:
        raise BackupError(f"{backup.path} has no configuration of a stream.") from None
