"""Finds the experiments in a folder and reads what they left; what is broken is put aside."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
from pydantic import ValidationError

from pipeline.experiments.report.results_schema import Drawing, Results
from pipeline.experiments.results_folder import PARTS, RECORD, RESULTS, RUN

DEPTH = 6
MOST_FOLDERS = 10_000
MOST_RESULTS_BYTES = 128 << 20
MOST_RECORD_BYTES = 4 << 20
MOST_PICTURE_BYTES = 8 << 20
MOST_CSV_BYTES = 1 << 20
MOST_BYTES = 64 << 20  # of pictures and CSVs in one page; browsers load that without effort


class BrokenError(ValueError):
    """A file that is not what it should be; the message says what was found."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many parts of a run are done."""

    experiment: str
    done: int
    parts: int | None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file in the page, or why it is not."""

    name: str
    content: bytes = b""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """What is known of a picture, and its file."""

    drawing: Drawing
    file: Attachment


@dataclass(frozen=True, slots=True)
class ExperimentFolder:
    """An experiment's folder: its results, or how far it is, or what is wrong with it."""

    path: Path
    folder: str  # its name, below the one that was looked through
    results: Results | None = None
    progress: Progress | None = None
    pictures: Sequence[Picture] = ()
    numbers: Sequence[Attachment] = ()  # as CSV
    problem: str = ""  # begins with the name of a file in the folder


class Budget:
    """Bytes that may still go into the page."""

    def __init__(self, size: int = MOST_BYTES) -> None:
        self.left = size

    def take(self, path: Path, most: int) -> Attachment:
        """A file as an attachment, if it is there and small enough."""
        try:
            content = read_limited(path, min(most, self.left))
        except BrokenError as error:
            return Attachment(path.name, problem=str(error))
        self.left -= len(content)
        return Attachment(path.name, content)


def find_experiments(top: Path) -> list[ExperimentFolder]:
    """Every folder with results; then those with parts of them, and what cannot be read."""
    budget = Budget()
    read = (read_folder(top, folder, budget) for folder in folders(top))
    found = [one for one in read if one is not None]
    return sorted(found, key=lambda one: (one.results is None, one.problem != ""))


def folders(top: Path) -> Iterator[Path]:
    """A folder and those in it, not through links, as deep as anybody nests results."""
    waiting, looked = [(top, 0)], 0
    while waiting and looked < MOST_FOLDERS:
        folder, depth = waiting.pop()
        looked += 1
        yield folder
        if depth == DEPTH:
            continue
        try:
            inside = sorted(entry.name for entry in os.scandir(folder) if is_folder(entry))
        except OSError:
            continue  # not ours to read, so nothing of ours
        waiting += [(folder / name, depth + 1) for name in reversed(inside)]


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether a folder may hold experiments."""
    hidden = entry.name.startswith(".") or entry.name == PARTS
    return not hidden and entry.is_dir(follow_symlinks=False)


def read_folder(top: Path, folder: Path, budget: Budget) -> ExperimentFolder | None:
    """What an experiment left in a folder; None if none was there."""
    name = folder.relative_to(top).as_posix()
    name = top.resolve().name if name == "." else name
    progress, problem = None, ""
    try:
        progress = read_progress(folder)
    except BrokenError as error:
        problem = str(error)
    if not os.path.lexists(folder / RESULTS):
        return (
            ExperimentFolder(folder, name, progress=progress, problem=problem)
            if progress or problem
            else None
        )
    try:
        results = read_results(folder / RESULTS)
    except BrokenError as error:
        return ExperimentFolder(folder, name, problem=str(error))
    pictures = [
        Picture(drawing, picture_of(folder, drawing, budget))
        for drawing in results.drawings or drawings_in(folder)
    ]
    names = [*results.tables, *(results.series or ())]
    numbers = [budget.take(folder / f"{one}.csv", MOST_CSV_BYTES) for one in names]
    return ExperimentFolder(folder, name, results, progress, pictures, numbers)


def read_results(path: Path) -> Results:
    """The results of an experiment, checked."""
    found = read_object(path, MOST_RESULTS_BYTES)
    try:
        return Results.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(place)[:80] for place in first["loc"]) or "all of it"
        problem = f"{where}: {first['msg']}"
    raise BrokenError(f"{path.name} is no result of an experiment: {problem}")


def read_progress(folder: Path) -> Progress | None:
    """How far a run is, by its record; None if there is none, or it is none of an experiment."""
    path = folder / RECORD
    if not os.path.lexists(path) or not (folder / PARTS).is_dir():
        return None
    record = read_object(path, MOST_RECORD_BYTES)
    name, run = record.get("experiment"), record.get(RUN)
    parts = run.get("parts") if isinstance(run, dict) else None
    if not isinstance(name, str):
        return None
    done = sum(1 for _ in (folder / PARTS).glob("*.json"))
    return Progress(name, done, parts if isinstance(parts, int) else None)


def read_object(path: Path, most: int) -> dict[str, object]:
    """The JSON object in a file."""
    try:
        found = orjson.loads(read_limited(path, most))
    except orjson.JSONDecodeError as error:
        raise BrokenError(f"{path.name} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise BrokenError(f"{path.name} is no result of an experiment: it holds no JSON object")
    return found


def read_limited(path: Path, most: int) -> bytes:
    """A file that is one and no link (which might lead to anything), and not too large."""
    try:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode):
            raise BrokenError(f"{path.name} is a link or no file; expected a file")
        if about.st_size > most:
            raise BrokenError(
                f"{path.name} has {about.st_size:,} bytes; at most {most:,} are taken"
            )
        return path.read_bytes()
    except OSError as error:
        raise BrokenError(f"{path.name} cannot be read: {error.strerror}") from None


def picture_of(folder: Path, drawing: Drawing, budget: Budget) -> Attachment:
    """The file of a picture: SVG, which is sharp at any size, or else PNG."""
    for ending in (".svg", ".png"):
        file = budget.take(folder / f"{drawing.name}{ending}", MOST_PICTURE_BYTES)
        if looks_like(ending, file.content):
            return file
    problem = file.problem or f"{drawing.name}.png is no picture"
    return Attachment(drawing.name, problem=problem)


def looks_like(ending: str, content: bytes) -> bool:
    """Whether a file begins as its name promises."""
    if ending == ".png":
        return content.startswith(b"\x89PNG\r\n\x1a\n")
    return content.lstrip().startswith((b"<?xml", b"<svg")) and b"<svg" in content[:4096]


def drawings_in(folder: Path) -> list[Drawing]:
    """The pictures of results that do not name them: of an earlier version."""
    names = sorted({path.stem for ending in ("png", "svg") for path in folder.glob(f"*.{ending}")})
    return [Drawing(name=name) for name in names if len(name) <= 200]
