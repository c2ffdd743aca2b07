"""The folder of an experiment: what it was run with, and the results of the parts that are done.

A part's result is written whole when the part is done, so that a run that ended early goes on
where it stopped. Results that were made with other settings or other data are never mixed in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from pipeline.errors import UsageError
from pipeline.experiments.experiment import Result
from pipeline.outputs import write_whole

RECORD = "run.json"
PARTS = "parts"


class Folder:
    """Where the results of one experiment are kept."""

    def __init__(self, path: Path, record: Mapping[str, Any], anew: bool) -> None:
        self.path = path
        try:
            (path / PARTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--out {path} cannot be made a folder: {error.strerror}.") from None
        # As it comes back from the file, where every tuple is a list.
        wanted = orjson.loads(orjson.dumps(dict(record)))
        before = read_json(path / RECORD)
        parts = list((path / PARTS).glob("*.json"))
        if before != wanted and parts and not anew:
            changed = ", ".join(sorted(differing(before, wanted)))
            raise UsageError(
                f"{path} has results of another run: {changed} differ. Write to another folder "
                "(--out), or throw them away (--anew)."
            )
        if anew:
            for part in parts:
                part.unlink()
        write_whole(path / RECORD, orjson.dumps(wanted, option=orjson.OPT_INDENT_2) + b"\n")

    def kept(self, part: str) -> Result | None:
        """The result of a part, if it is done."""
        found = read_json(self._file(part))
        return found["result"] if isinstance(found, dict) and found.get("part") == part else None

    def keep(self, part: str, result: Result) -> None:
        """Keep the result of a part."""
        content = {"part": part, "result": result}
        write_whole(self._file(part), orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")

    def _file(self, part: str) -> Path:
        return self.path / PARTS / (re.sub(r"[^A-Za-z0-9.=_-]+", "-", part) + ".json")


def read_json(path: Path) -> Any:  # noqa: ANN401 - whatever the file holds
    """What a file holds; None if there is none, or it is no JSON."""
    try:
        return orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None


def differing(one: Any, other: Any, name: str = "") -> set[str]:  # noqa: ANN401 - JSON
    """The names of what is not the same in two records.

    >>> sorted(differing({"a": 1, "b": {"c": 2, "d": 3}}, {"a": 1, "b": {"c": 5, "d": 3}}))
    ['b.c']
    """
    if not isinstance(one, dict) or not isinstance(other, dict):
        return set() if one == other else {name or "all settings"}
    found: set[str] = set()
    for key in one.keys() | other.keys():
        inner = f"{name}.{key}" if name else str(key)
        found |= differing(one.get(key), other.get(key), inner)
    return found
