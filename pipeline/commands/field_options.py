"""The option `--fields`: settings such as `title=headline`, and files that have such settings."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.errors import UsageError
from pipeline.events.fields import FieldMapping, parse_fields


def read_fields(texts: Sequence[str] | None) -> FieldMapping | None:
    """Return the field mapping that `--fields` gives, or None if it is not given.

    Examples
    --------
    >>> read_fields(["text=lead", "text=body", 'time={path = "at", format = "seconds"}']).settings
    {'text': ['lead', 'body'], 'time': {'path': 'at', 'format': 'seconds'}}

    """
    if not texts:
        return None
    given: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            given.update(read_file(Path(text)))
        elif name in given:
            known = given[name]
            given[name] = [*(known if isinstance(known, list) else [known]), toml_value(value)]
        else:
            given[name] = toml_value(value)
    try:
        return parse_fields(given)
    except UsageError as error:
        raise UsageError(f"--{error}.") from None


def toml_value(text: str) -> Any:  # noqa: ANN401 - whatever TOML can say
    """Return a list or a table written as in TOML, or else the text itself, which is a path."""
    if not text.startswith(("[", "{")):
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"--fields: {text[:200]!r} is not valid TOML: {error}.") from None
    except RecursionError:
        raise UsageError(f"--fields: {text[:80]!r} is nested too deep.") from None


def read_file(path: Path) -> dict[str, Any]:
    """Return the settings in a file: its section `fields`, that of its only stream, or all of it.

    So the configuration of the workers can be used as it is.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--fields: {path} cannot be read: {error}. Write NAME=PATH, or a TOML file."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"--fields: {path} is not valid TOML: {error}.") from None
    except RecursionError:
        raise UsageError(f"--fields: {path} is nested too deep.") from None
    streams = given.get("streams")
    if isinstance(streams, list):
        found = [stream["fields"] for stream in streams if "fields" in stream]
        if len(found) != 1:
            raise UsageError(
                f"--fields: {path} has {len(found)} streams with `fields`; write the settings of "
                "one of them into a file of their own."
            )
        given = found[0]
    elif "fields" in given:
        given = given["fields"]
    if not isinstance(given, dict):
        raise UsageError(f"--fields: `fields` in {path} is not a table.")
    return given
