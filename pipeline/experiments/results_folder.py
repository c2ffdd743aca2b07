"""The folder of an experiment: its settings, and the results of the parts that are done.

The result of a part is written when the part is done, so an interrupted run continues where it
stopped. Results of other settings or other data are never mixed in. The folder records which files
an experiment wrote, so that no other file is ever removed.
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
RUN = "run"  # key in the record: facts about the run that do not affect the results
WRITTEN = re.compile(r"[^/\\\0]+\.(?:csv|json|png|svg)")  # names of files that experiments write


class PartRun(NamedTuple):
    """When a part was finished, how long it took, and the version of Wirerank that ran it."""

    finished: str
    seconds: float
    wirerank: str


class ResultsFolder:
    """The folder with the results of one experiment."""

    def __init__(self, path: Path, record: Mapping[str, Any], anew: bool) -> None:
        self.path = path
        try:
            (path / PARTS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"the folder --out {path} cannot be created: {error.strerror}."
            ) from None
        # As it is read back from the file, where every tuple is a list.
        self._record = orjson.loads(orjson.dumps(dict(record)))
        before = read_json(path / RECORD)
        self._run = before.pop(RUN, {}) if isinstance(before, dict) else {}
        parts = list(part_files(path))
        if before != self._record and parts and not anew:
            changed = ", ".join(sorted(differing(before, self._record)))
            raise UsageError(
                f"{path} has results of another run: {changed} differ. Write to another folder "
                "(--out), or delete the old results (--anew)."
            )
        if anew:
            for old in (*parts, *(path / name for name in written_before(path))):
                old.unlink(missing_ok=True)
            self._run = {}
        self._write_record()

    def begin(self, parts: int) -> None:
        """Record the version that runs the experiment, and its number of parts."""
        self._run = {**self._run, "wirerank": version("wirerank"), "parts": parts}
        self._write_record()

    def will_write(self, names: Sequence[str]) -> None:
        """Record the files that are about to be written; remove other files of an earlier run."""
        for name in set(written_before(self.path)) - set(names):
            (self.path / name).unlink(missing_ok=True)
        self._run = {**self._run, "written": list(names)}
        self._write_record()

    def kept(self, part: str) -> Result | None:
        """The result of a part, if the part is done."""
        content = read_json(self._file(part))
        is_part = isinstance(content, dict) and content.get("part") == part
        return content["result"] if is_part else None

    def part_run(self, part: str) -> PartRun | None:
        """When and how a part was run; None if an earlier version stored it without that."""
        content = read_json(self._file(part))
        made = content.get("made") if isinstance(content, dict) else None
        return PartRun(**made) if isinstance(made, dict) else None

    def keep(self, part: str, result: Result, seconds: float) -> None:
        """Store the result of a part, and how long it took."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        made = PartRun(now, round(seconds, 3), version("wirerank"))
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
    """The files with results of parts in a folder; other files there are ignored."""
    for path in sorted((folder / PARTS).glob("*.json")):
        content = read_json(path)
        if isinstance(content, dict) and file_of(str(content.get("part"))) == path.name:
            yield path


def written_before(folder: Path) -> list[str]:
    """The files that earlier runs wrote from results, according to the folder's own record.

    Early versions recorded no files; then at least the names of the tables are known.
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
    """The content of a JSON file; None if there is no file, or it is not JSON."""
    try:
        return orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None


def differing(one: Any, other: Any, name: str = "") -> set[str]:  # noqa: ANN401 - JSON
    """The names of the entries that differ between two records.

    >>> sorted(differing({"a": 1, "b": {"c": 2, "d": 3}}, {"a": 1, "b": {"c": 5, "d": 3}}))
    ['b.c']
    """
    if not isinstance(one, dict) or not isinstance(other, dict):
        return set() if one == other else {name or "all settings"}
    names: set[str] = set()
    for key in one.keys() | other.keys():
        inner = f"{name}.{key}" if name else str(key)
        names |= differing(one.get(key), other.get(key), inner)
    return names
