"""The folder of an experiment: what it was run with, and the results of the parts that are done.

A part's result is written whole when the part is done, so that a run that ended early goes on
where it stopped. Results that were made with other settings or other data are never mixed in.
What was written from the results is recorded, so that nothing else is ever removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from pipeline.errors import UsageError
from pipeline.experiments.experiment import Result
from pipeline.storage.output_files import write_whole

RECORD = "run.json"
RESULTS = "results.json"
PARTS = "parts"
RUN = "run"  # in the record: what is said about a run and decides nothing
WRITTEN = re.compile(r"[^/\\\0]+\.(?:csv|json|png|svg)")  # how files that an experiment writes look


class Made(NamedTuple):
    """When a part was done, how long that took, and by which version of Wirerank."""

    finished: str
    seconds: float
    wirerank: str


class ResultsFolder:
    """Where the results of one experiment are kept."""

    def __init__(self, path: Path, record: Mapping[str, Any], anew: bool) -> None:
        self.path = path
        try:
            (path / PARTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--out {path} cannot be made a folder: {error.strerror}.") from None
        # As it comes back from the file, where every tuple is a list.
        self._record = orjson.loads(orjson.dumps(dict(record)))
        before = read_json(path / RECORD)
        self._run = before.pop(RUN, {}) if isinstance(before, dict) else {}
        parts = list(part_files(path))
        if before != self._record and parts and not anew:
            changed = ", ".join(sorted(differing(before, self._record)))
            raise UsageError(
                f"{path} has results of another run: {changed} differ. Write to another folder "
                "(--out), or throw them away (--anew)."
            )
        if anew:
            for old in (*parts, *(path / name for name in written_before(path))):
                old.unlink(missing_ok=True)
            self._run = {}
        self._write_record()

    def begin(self, parts: int) -> None:
        """Note who runs it, and of how many parts it is."""
        self._run = {**self._run, "wirerank": version("wirerank"), "parts": parts}
        self._write_record()

    def will_write(self, names: Sequence[str]) -> None:
        """Note the files that are written now; those of an earlier run that are not are removed."""
        for name in set(written_before(self.path)) - set(names):
            (self.path / name).unlink(missing_ok=True)
        self._run = {**self._run, "written": list(names)}
        self._write_record()

    def kept(self, part: str) -> Result | None:
        """The result of a part, if it is done."""
        found = read_json(self._file(part))
        return found["result"] if isinstance(found, dict) and found.get("part") == part else None

    def made(self, part: str) -> Made | None:
        """How a part was made; None of one that was kept before this was noted."""
        found = read_json(self._file(part))
        made = found.get("made") if isinstance(found, dict) else None
        return Made(**made) if isinstance(made, dict) else None

    def keep(self, part: str, result: Result, seconds: float) -> None:
        """Keep the result of a part, and how long it took."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        made = Made(now, round(seconds, 3), version("wirerank"))
        content = {"part": part, "result": result, "made": made._asdict()}
        write_whole(self._file(part), orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")

    def _file(self, part: str) -> Path:
        return self.path / PARTS / file_of(part)

    def _write_record(self) -> None:
        whole = {**self._record, RUN: self._run} if self._run else self._record
        write_whole(self.path / RECORD, orjson.dumps(whole, option=orjson.OPT_INDENT_2) + b"\n")


def file_of(part: str) -> str:
    """The name of the file of a part."""
    return re.sub(r"[^A-Za-z0-9.=_-]+", "-", part) + ".json"


def part_files(folder: Path) -> Iterator[Path]:
    """The results of parts in a folder; whatever else lies there is none of an experiment's."""
    for path in sorted((folder / PARTS).glob("*.json")):
        found = read_json(path)
        if isinstance(found, dict) and file_of(str(found.get("part"))) == path.name:
            yield path


def written_before(folder: Path) -> list[str]:
    """The files that were written from results, by the folder's own record.

    A run of a version that recorded nothing left at least the names of its tables.
    """
    record, results = read_json(folder / RECORD), read_json(folder / RESULTS)
    run = record.get(RUN) if isinstance(record, dict) else None
    names = run.get("written") if isinstance(run, dict) else None
    is_ours = isinstance(record, dict) and isinstance(results, dict)
    if names is None and is_ours and results.get("experiment") == record.get("experiment"):
        tables = results.get("tables")
        names = [RESULTS, *(f"{name}.csv" for name in tables or ())]
    return [name for name in names or () if isinstance(name, str) and WRITTEN.fullmatch(name)]


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
