"""`wirerank backup`: a stream as one file, made while its workers run."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from consumers.commands.configuration import configured, stream_named
from consumers.commands.options import (
    ConfigFile,
    LogFormatOption,
    LogLevelOption,
    StreamName,
    WithoutLanes,
)
from consumers.logs import LogFormat, LogLevel, set_up_logging
from consumers.stream_settings import StreamSettings
from pipeline.commands.failure import fail
from pipeline.errors import UsageError
from pipeline.storage.output_files import check_outputs

log = logging.getLogger(__name__)


def backup_command(
    path: ConfigFile,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="The file to write; an older backup of the stream is replaced."
        ),
    ],
    stream: StreamName = None,
    without: WithoutLanes = None,
    log_level: LogLevelOption = LogLevel.WARNING,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Back up a stream to one file.

    The workers go on meanwhile. The file has what the lanes have learned at one offset of the log,
    the offsets of the documents up to there, and the configuration without secrets. `wirerank
    inspect FILE` checks and shows it, `wirerank restore` goes on from it.
    """
    config = configured(path)
    settings = stream_named(config, stream)
    set_up_logging("backup", log_level, log_format)
    from consumers.backup.errors import BackupError  # noqa: PLC0415 - slow to import
    from consumers.backup.lane_choice import without_lanes  # noqa: PLC0415
    from consumers.backup.making import make_backup  # noqa: PLC0415
    from consumers.kafka.errors import KafkaError, describe_error  # noqa: PLC0415
    from consumers.worker_loop import FATAL  # noqa: PLC0415
    from pipeline.models.backup import place_of  # noqa: PLC0415
    from pipeline.models.model_file import write_model  # noqa: PLC0415

    try:
        check_outputs([file], [path])
        check_replaced(file, settings)
        backup = make_backup(config, without_lanes(settings, without or []))
        write_model(file, backup)
    except UsageError as error:
        fail(str(error))
    except (BackupError, *FATAL) as error:
        fail(str(error), 1)
    except (KafkaError, OSError) as error:
        fail(f"{describe_error(error)}. Nothing was written.", 1)
    place = place_of(backup.content, str(file))
    typer.echo(
        f"{file}: stream {place.stream} at offset {place.position:,} of its log, "
        f"lanes {', '.join(backup.all_lanes)}, {file.stat().st_size:,} bytes"
    )


def check_replaced(file: Path, stream: StreamSettings) -> None:
    """Raise `BackupError` if a file is there that must not be replaced."""
    from consumers.backup.errors import BackupError  # noqa: PLC0415 - slow to import
    from pipeline.models.backup import place_of  # noqa: PLC0415
    from pipeline.models.model_file import read_whole  # noqa: PLC0415
    from pipeline.storage.container import DamagedError  # noqa: PLC0415

    if not file.exists():
        return
    if stream.initial is not None and stream.initial.exists() and file.samefile(stream.initial):
        raise BackupError(
            f"{file} is what stream {stream.name} began with (`initial`), and is needed as long as "
            "its log. Write the backup to another file."
        )
    try:
        place = place_of(read_whole(file).content, str(file))
    except (UsageError, DamagedError) as error:
        raise BackupError(
            f"{file} exists and is no backup that could be replaced ({error}). Write the backup to "
            "another file."
        ) from None
    if place.stream != stream.name:
        raise BackupError(
            f"{file} is a backup of stream {place.stream}, not of {stream.name}. Write the backup "
            "to another file."
        )
