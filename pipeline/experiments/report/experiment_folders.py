"""Finds the folders of experiments and reads their results; broken files are reported."""

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
MOST_BYTES = 64 << 20  # of figures and CSV files in one page; browsers load that easily


class BrokenError(ValueError):
    """A file is not what it should be; the message says what was found."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How many parts of a run are done."""

    experiment: str
    done: int
    parts: int | None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file to include in the page, or the reason why it is not included."""

    name: str
    content: bytes = b""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure: its description and its file."""

    drawing: Drawing
    file: Attachment


@dataclass(frozen=True, slots=True)
class ExperimentFolder:
    """The folder of an experiment: its results, its progress, or what is wrong with it."""

    path: Path
    name: str  # the path below the folder that was searched
    results: Results | None = None
    progress: Progress | None = None
    pictures: Sequence[Picture] = ()
    numbers: Sequence[Attachment] = ()  # CSV files
    problem: str = ""  # begins with the name of a file in the folder


class Budget:
    """The number of bytes that may still be added to the page."""

    def __init__(self, size: int = MOST_BYTES) -> None:
        self.left = size

    def take(self, path: Path, most: int) -> Attachment:
        """A file as an attachment, if it exists and is small enough."""
        try:
            content = read_limited(path, min(most, self.left))
        except BrokenError as error:
            return Attachment(path.name, problem=str(error))
        self.left -= len(content)
        return Attachment(path.name, content)


def find_experiments(top: Path) -> list[ExperimentFolder]:
    """All folders of experiments: first those with results, then unfinished and broken ones."""
    budget = Budget()
    read = (read_folder(top, folder, budget) for folder in folders(top))
    experiments = [one for one in read if one is not None]
    return sorted(experiments, key=lambda one: (one.results is None, one.problem != ""))


def folders(top: Path) -> Iterator[Path]:
    """A folder and the folders inside it, up to a limited depth, without following links."""
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
            continue  # a folder that cannot be read holds no results of ours
        waiting += [(folder / name, depth + 1) for name in reversed(inside)]


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder that may hold experiments."""
    hidden = entry.name.startswith(".") or entry.name == PARTS
    return not hidden and entry.is_dir(follow_symlinks=False)


def read_folder(top: Path, folder: Path, budget: Budget) -> ExperimentFolder | None:
    """The experiment in a folder; None if there is none."""
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
    """The results of an experiment, checked against the schema."""
    content = read_object(path, MOST_RESULTS_BYTES)
    try:
        return Results.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(place)[:80] for place in first["loc"]) or "the whole file"
        problem = f"{where}: {first['msg']}"
    raise BrokenError(f"{path.name} does not hold the results of an experiment: {problem}")


def read_progress(folder: Path) -> Progress | None:
    """The progress of a run, from its record; None if there is no record of an experiment."""
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
        content = orjson.loads(read_limited(path, most))
    except orjson.JSONDecodeError as error:
        raise BrokenError(f"{path.name} is not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise BrokenError(
            f"{path.name} does not hold the results of an experiment: it is not a JSON object"
        )
    return content


def read_limited(path: Path, most: int) -> bytes:
    """The content of a regular file that is not too large; links are refused."""
    try:
        about = path.lstat()
        if not stat.S_ISREG(about.st_mode):
            raise BrokenError(f"{path.name} is not a regular file (links are not followed)")
        if about.st_size > most:
            raise BrokenError(f"{path.name} has {about.st_size:,} bytes; expected at most {most:,}")
        return path.read_bytes()
    except OSError as error:
        raise BrokenError(f"{path.name} cannot be read: {error.strerror}") from None


def picture_of(folder: Path, drawing: Drawing, budget: Budget) -> Attachment:
    """The file of a figure: SVG, which is sharp at any size, or else PNG."""
    for ending in (".svg", ".png"):
        file = budget.take(folder / f"{drawing.name}{ending}", MOST_PICTURE_BYTES)
        if looks_like(ending, file.content):
            return file
    problem = file.problem or f"{drawing.name}.png is not a picture"
    return Attachment(drawing.name, problem=problem)


def looks_like(ending: str, content: bytes) -> bool:
    """Whether the content of a file begins as its suffix requires."""
    if ending == ".png":
        return content.startswith(b"\x89PNG\r\n\x1a\n")
    return content.lstrip().startswith((b"<?xml", b"<svg")) and b"<svg" in content[:4096]


def drawings_in(folder: Path) -> list[Drawing]:
    """The figures in a folder, for results of early versions, which do not list them."""
    names = sorted({path.stem for ending in ("png", "svg") for path in folder.glob(f"*.{ending}")})
    return [Drawing(name=name) for name in names if len(name) <= 200]
