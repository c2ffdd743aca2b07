"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from consumers.logs import LogFormat, LogLevel

ConfigFile = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG",
        help="The configuration file; `wirerank config --example` prints one to start from.",
    ),
]
StreamName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The stream to work on; needed if the configuration has several."
    ),
]
WithoutLanes = Annotated[
    list[str] | None,
    typer.Option(
        "--without",
        metavar="LANE",
        help="Leave out a lane; repeat for several. A lane that was added after the log was "
        "trimmed needs a backup of its own.",
    ),
]
LogLevelOption = Annotated[
    LogLevel,
    typer.Option("--log-level", help="Log messages of this level and above.", case_sensitive=False),
]
LogFormatOption = Annotated[
    LogFormat,
    typer.Option(
        "--log-format",
        help="Write log lines as text, or as JSON: one object per line.",
        case_sensitive=False,
    ),
]
Supervised = Annotated[
    bool,
    typer.Option(
        hidden=True,
        help="`run` has started this worker, has logged the settings, and listens at its input.",
    ),
]
