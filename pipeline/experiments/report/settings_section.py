"""The part of a section that says exactly how an experiment was run, with the command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

import orjson

from pipeline.experiments.report.markup import Html, element, joined
from pipeline.experiments.report.results_schema import Results

MOST_SETTING = 2_000  # characters of a setting that are shown
NESTED = 3


def exact_settings(results: Results) -> Html:
    """All settings, the data with checksums, the versions, and the command."""
    settings = [
        (name, text) for key, value in results.settings.items() for name, text in flat(key, value)
    ]
    data: list[tuple[str, str]] = [
        (
            kind,
            joined(
                without_folders(results.data.get(kind, "")),
                " ",
                element("code", "sha256 ", element("wbr"), digest),
            ),
        )
        for kind, digest in results.sha256.items()
    ]
    blocks: list[tuple[str, list[tuple[str, str]]]] = [
        ("Settings", settings),
        ("Data", data),
        ("Versions", list(results.versions.items())),
    ]
    lists = [joined(element("h4", title), definition(rows)) for title, rows in blocks if rows]
    command = command_of(results)
    again = joined(
        element("h4", "Command to repeat the run"), element("pre", element("code", command))
    )
    return element(
        "details",
        element("summary", "Exact settings, data and versions"),
        again,
        *lists,
        class_="exact",
    )


def definition(rows: list[tuple[str, str]]) -> Html:
    """A list of names with their values."""
    return element(
        "dl",
        *(element("div", element("dt", name), element("dd", text)) for name, text in rows),
        class_="settings",
    )


def flat(name: str, value: object, depth: int = 1) -> Iterator[tuple[str, str]]:
    """The names and texts of a setting; nested settings get names with dots.

    >>> list(flat("a", {"b": [1, 2], "c": {"d": True}}))
    [('a.b', '1, 2'), ('a.c.d', 'true')]
    """
    if isinstance(value, Mapping) and value and depth < NESTED:
        for key, inner in value.items():
            yield from flat(f"{name}.{key}", inner, depth + 1)
    else:
        yield name, setting_text(value)


def setting_text(value: Any) -> str:  # noqa: ANN401 - JSON
    """The text of a setting, cut if it is too long."""
    if isinstance(value, list) and not any(isinstance(one, list | dict) for one in value):
        text = ", ".join(plain(one) for one in value)
    else:
        text = plain(value)
    return text if len(text) <= MOST_SETTING else f"{text[:MOST_SETTING]} ..."


def plain(value: Any) -> str:  # noqa: ANN401 - JSON
    """A value as text; strings are not quoted."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # orjson reads deeper nesting than it writes
        return "nested too deep to be shown"


def without_folders(path: str) -> str:
    """A path, or options with several paths, without folders, which are private to the machine.

    >>> without_folders("/home/me/ml-100k.zip"), without_folders("qrels=/a/b.txt,run=c/d")
    ('ml-100k.zip', 'qrels=b.txt,run=d')
    """
    pieces = re.split("([,=])", path)
    return "".join(one if one in ",=" else PurePath(one).name for one in pieces)


def command_of(results: Results) -> str:
    """The command that gives these results; the data are named without their folders."""
    words = ["wirerank", "experiment", results.experiment]
    for kind, path in results.data.items():
        words += ["--data", f"{kind}:{without_folders(path)}"]
    own = {
        name: results.settings[name]
        for name in ("seed", "splits", "quick")
        if name in results.settings
    }
    for name, value in {**own, **results.run.settings}.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not False and value is not None:
            words += [option, str(value)]
    return shlex.join(words)
