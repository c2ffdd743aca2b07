"""Reading the configuration for a command; ends the program if it is wrong."""

from __future__ import annotations

import os
from pathlib import Path

from consumers.config import read_config
from consumers.settings import Config, ConfigError
from consumers.stream_settings import StreamSettings
from pipeline.commands.failure import fail


def configured(path: Path) -> Config:
    """Read the configuration, or end with a message that says what is wrong with it."""
    try:
        return read_config(path, os.environ)
    except ConfigError as error:
        fail(str(error))


def stream_named(config: Config, name: str | None) -> StreamSettings:
    """The stream with this name; without a name, the only stream."""
    names = [stream.name for stream in config.streams]
    if name is None and len(names) == 1:
        return config.streams[0]
    if name not in names:
        fail(f"--stream must be one of {', '.join(names)}. Got {name!r}.")
    return config.streams[names.index(name)]
