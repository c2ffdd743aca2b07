"""Reads the configuration of the Kafka workers: a TOML file, and the environment laid over it.

`WIRERANK__KAFKA__BOOTSTRAP=broker:9092` sets `bootstrap` of `[kafka]`, and
`WIRERANK__STREAMS__0__PROFILE=reuters21578` sets the profile of the first stream. Settings that are
unknown or contradict each other are refused, with a message that says what to write instead.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from consumers.log_settings import LogSettings, RetentionSettings
from consumers.registry_settings import RegistrySettings
from consumers.section import Section
from consumers.settings import (
    AuditSettings,
    Config,
    ConfigError,
    KafkaSettings,
    MetricsSettings,
    PageSettings,
    SnapshotSettings,
)
from consumers.stream_settings import LaneSettings, StreamSettings

ENVIRONMENT_PREFIX = "WIRERANK__"
MAX_FILE_BYTES = 1 << 20
# Taken from the environment literally: a password may look like a number or a comment.
LITERAL_SETTINGS = {
    "ssl_password", "sasl_username", "sasl_password", "oauth_client_id", "oauth_client_secret",
    "user", "password", "token",
}  # fmt: skip


def read_config(path: Path, environment: Mapping[str, str]) -> Config:
    """Read a configuration file; settings in the environment replace those of the file."""
    try:
        given = tomllib.loads(read_text(path))
    except FileNotFoundError:
        raise ConfigError(
            f"{path} does not exist. `wirerank config --example` prints a file to start from."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from None
    except ValueError as error:  # TOMLDecodeError is one, and so is a number of too many digits
        raise ConfigError(f"{path} is not valid TOML: {error}.") from None
    except RecursionError:
        raise ConfigError(
            f"{path} cannot be read: its lists or tables are nested too deep."
        ) from None
    for name, text in environment.items():
        if name.startswith(ENVIRONMENT_PREFIX):
            place = name.removeprefix(ENVIRONMENT_PREFIX).lower().split("__")
            set_value(given, place, environment_value(name, place[-1], text), name)
    try:
        return Config.model_validate(given)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        messages = [explain(p) for p in problems if not is_consequence(p, problems)]
        raise ConfigError(f"{path} cannot be used:\n  " + "\n  ".join(messages)) from None


def read_text(path: Path) -> str:
    """Read a configuration file, which may be a pipe; raises ConfigError if it is too large."""
    with path.open("rb") as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ConfigError(
            f"{path} has more than {MAX_FILE_BYTES:,} bytes, which no configuration has."
        )
    return content.decode()


class KafkaOnly(Section):
    """The configuration of a command without a configuration file."""

    kafka: KafkaSettings


def kafka_settings(bootstrap: str, environment: Mapping[str, str]) -> KafkaSettings:
    """Settings for a broker named on the command line; all others come from the environment."""
    prefix = f"{ENVIRONMENT_PREFIX}KAFKA__"
    given = {
        (key := name.removeprefix(prefix).lower()): environment_value(name, key, text)
        for name, text in environment.items()
        if name.startswith(prefix)
    }
    try:
        return KafkaOnly.model_validate({"kafka": {**given, "bootstrap": bootstrap}}).kafka
    except ValidationError as error:
        problems = [explain(problem) for problem in error.errors(include_url=False)]
        where = f"The broker's settings ({prefix}... in the environment) cannot be used"
        raise ConfigError(f"{where}:\n  " + "\n  ".join(problems)) from None


def environment_value(name: str, setting: str, text: str) -> Any:  # noqa: ANN401 - as TOML has it
    """The value of a setting in the environment; names and passwords are taken literally.

    Text that is not UTF-8 is refused here. Later it would be an error that may show the text.
    """
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise ConfigError(f"{name} is not valid UTF-8.")
    return text if setting in LITERAL_SETTINGS else toml_value(text)


def toml_value(text: str) -> Any:  # noqa: ANN401 - whatever TOML can say
    """A text read as a TOML value, or as a string if it is none."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # the latter: brackets inside brackets
        return text


def set_value(given: Any, place: list[str], value: Any, name: str) -> None:  # noqa: ANN401
    """Set one value inside the tables and lists of a configuration; `name` is for messages."""
    *path, last = place
    for part in path:
        if isinstance(given, list):
            if not part.isdigit() or int(part) >= len(given):
                raise ConfigError(
                    f"{name}: {part!r} is not the number of an entry. The list has {len(given)} "
                    "entries, numbered from 0."
                )
            given = given[int(part)]
        elif isinstance(given, dict):
            given = given.setdefault(part, {})
        else:
            raise ConfigError(
                f"{name} sets a part of {part!r}, which is a single value in the file."
            )
    if not isinstance(given, dict):
        raise ConfigError(f"{name} must end in the name of a setting.")
    given[last] = value


def is_consequence(problem: Any, problems: Sequence[Any]) -> bool:  # noqa: ANN401 - dicts of pydantic's
    """Whether a problem only says that a list is too short, because its entries are wrong."""
    where = problem["loc"]
    inner = any(len(p["loc"]) > len(where) and p["loc"][: len(where)] == where for p in problems)
    return problem["type"] == "too_short" and inner


def explain(problem: Any) -> str:  # noqa: ANN401 - a dict of pydantic's
    """One problem in words: where it is, what is wrong, and a guess. Never shows a value."""
    where = ".".join(str(part) for part in problem["loc"]) or "the file"
    if problem["type"] == "extra_forbidden":
        section = SECTIONS.get(tuple(p for p in problem["loc"][:-1] if isinstance(p, str)), Config)
        known = sorted(section.model_fields)
        near = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(known)}."
        return f"{where}: there is no such setting; {meant}"
    if problem["type"] == "missing":
        return f"{where}: must be given."
    return f"{where}: {problem['msg'].removeprefix('Value error, ').removesuffix('.')}."


SECTIONS: dict[tuple[str, ...], type[Section]] = {
    (): Config,
    ("kafka",): KafkaSettings,
    ("registry",): RegistrySettings,
    ("snapshots",): SnapshotSettings,
    ("metrics",): MetricsSettings,
    ("audit",): AuditSettings,
    ("page",): PageSettings,
    ("streams",): StreamSettings,
    ("streams", "log"): LogSettings,
    ("streams", "retention"): RetentionSettings,
    ("streams", "lanes"): LaneSettings,
}
