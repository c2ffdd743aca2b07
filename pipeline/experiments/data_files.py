"""The data of an experiment: found by name in a folder or named outright, and fingerprinted."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

from pipeline.corpora import SourceError
from pipeline.corpora.word_prediction import text_files
from pipeline.errors import UsageError
from pipeline.experiments.experiment import Need

MAX_LOOKED_AT = 10_000  # files and folders; a folder of data has few, and each holds what it holds
DEPTH = 3
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txt", ".zip")


class NoDataError(UsageError):
    """None of the corpora of an experiment was found."""


def find_data(needs: Sequence[Need], given: Sequence[str]) -> dict[str, Path]:
    """Where each corpus is, by kind; `given` are folders to look in, or `kind:PATH`.

    A corpus that is nowhere is left out; if all are, that is an error. Who needs none gets none.
    """
    found: dict[str, Path] = {}
    if not needs:
        if given:
            raise UsageError("this experiment makes its own data; leave out --data.")
        return found
    kinds = {need.kind: need for need in needs}
    for text in given:
        kind, colon, rest = text.partition(":")
        if colon and kind in kinds:
            kinds[kind].check(Path(rest))
            found[kind] = Path(rest)
        elif not Path(text).exists():
            raise UsageError(f"{text} does not exist; expected {in_words(needs)}.")
        else:
            for need in needs:
                if need.kind not in found and (path := find_corpus(need, Path(text))):
                    found[need.kind] = path
    if not found:
        where = f"nothing of that is in {', '.join(given)}" if given else "no --data was given"
        raise NoDataError(f"{where}; expected {in_words(needs)}.")
    return found


def given_for(needs: Sequence[Need], given: Sequence[str], kinds: Set[str]) -> list[str]:
    """What of `given` is for an experiment with these needs: not the `kind:PATH` of other kinds."""
    own = {need.kind for need in needs}
    others = {f"{kind}:" for kind in kinds - own}
    return [text for text in given if own and not text.startswith(tuple(others))]


def in_words(needs: Sequence[Need]) -> str:
    """What --data may be."""
    kinds = " or ".join(f"--data {need.kind}:PATH ({need.title})" for need in needs)
    return f"{kinds}, or --data FOLDER that holds it; `wirerank corpora` says where to get it"


def find_corpus(need: Need, folder: Path) -> Path | None:
    """The first thing in a folder that has one of the names and is what it is called."""
    for path in candidates(folder, 0):
        if re.search(need.names, path.name, re.IGNORECASE):
            try:
                need.check(path)
            except SourceError:
                continue  # called so, but another thing: a folder above it, say
            return path
    return None


def candidates(path: Path, depth: int) -> Iterator[Path]:
    """A file or folder, and what is in it, the nearer first."""
    if path.is_file():
        if path.name.endswith(ARCHIVES):
            yield path
        return
    yield path
    if depth == DEPTH:
        return
    try:
        inside = sorted(os.scandir(path), key=lambda entry: entry.name)
    except OSError as error:
        raise UsageError(f"{path} cannot be listed: {error.strerror}; check its rights.") from None
    if len(inside) > MAX_LOOKED_AT:
        return
    for entry in inside:
        if not entry.name.startswith(".") and not entry.is_symlink():
            yield from candidates(path / entry.name, depth + 1)


def fingerprint(path: Path) -> str:
    """The SHA-256 of a file; of a folder or a pattern that of the names and contents of its files.

    Links to files count as the files: a text is read through them.
    """
    if path.is_file():
        return digest(path)
    return of_files(
        {
            (file.relative_to(path) if path.is_dir() else file).as_posix(): file
            for file in (path.rglob("*") if path.is_dir() else text_files(path))
            if file.is_file()
        }
    )


def of_files(files: Mapping[str, Path]) -> str:
    """The SHA-256 of the list of some files with theirs, sorted by the names they are given."""
    whole = hashlib.sha256()
    for name, file in sorted(files.items()):
        whole.update(f"{digest(file)}  {name}\n".encode())
    return whole.hexdigest()


def digest(path: Path) -> str:
    """The SHA-256 of one file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; check its rights.") from None


def fingerprints(needs: Sequence[Need], data: Mapping[str, Path]) -> dict[str, str]:
    """The fingerprint of each corpus, by kind."""
    found = {}
    for need in needs:
        if need.kind in data:
            path = data[need.kind]
            listed = {file.as_posix(): file for file in need.files(path)} if need.files else None
            found[need.kind] = fingerprint(path) if listed is None else of_files(listed)
    return found
