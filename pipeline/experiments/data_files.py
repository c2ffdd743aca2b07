"""Finds the corpora of an experiment, in a folder or at a given path, and fingerprints them."""

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

MOST_ENTRIES = 10_000  # a folder with more files and folders in it is not searched
DEPTH = 3
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz", ".txt", ".zip")


class NoDataError(UsageError):
    """No corpus of an experiment was found."""


def find_data(needs: Sequence[Need], given: Sequence[str]) -> dict[str, Path]:
    """The path of each corpus, by kind; `given` holds folders to search, or `kind:PATH`.

    A corpus that is not found is left out. If no corpus is found, that is an error, unless the
    experiment needs none.
    """
    paths: dict[str, Path] = {}
    if not needs:
        if given:
            raise UsageError("this experiment makes its own data; leave out --data.")
        return paths
    kinds = {need.kind: need for need in needs}
    for text in given:
        kind, colon, rest = text.partition(":")
        if colon and kind in kinds:
            kinds[kind].check(Path(rest))
            paths[kind] = Path(rest)
        elif not Path(text).exists():
            raise UsageError(f"{text} does not exist; expected {expected_data(needs)}.")
        else:
            for need in needs:
                if need.kind not in paths and (path := find_corpus(need, Path(text))):
                    paths[need.kind] = path
    if not paths:
        problem = f"no corpus was found in {', '.join(given)}" if given else "no --data was given"
        raise NoDataError(f"{problem}; expected {expected_data(needs)}.")
    return paths


def given_for(needs: Sequence[Need], given: Sequence[str], kinds: Set[str]) -> list[str]:
    """The items of `given` for an experiment with these needs: no `kind:PATH` of other kinds."""
    own = {need.kind for need in needs}
    others = {f"{kind}:" for kind in kinds - own}
    return [text for text in given if own and not text.startswith(tuple(others))]


def expected_data(needs: Sequence[Need]) -> str:
    """What --data may be, for error messages."""
    kinds = " or ".join(f"--data {need.kind}:PATH ({need.title})" for need in needs)
    return f"{kinds}, or --data FOLDER with it inside; `wirerank corpora` says where to get it"


def find_corpus(need: Need, folder: Path) -> Path | None:
    """The first path in a folder whose name fits and whose content is the corpus."""
    for path in candidates(folder, 0):
        if re.search(need.names, path.name, re.IGNORECASE):
            try:
                need.check(path)
            except SourceError:
                continue  # something else of that name, for example a folder above the corpus
            return path
    return None


def candidates(path: Path, depth: int) -> Iterator[Path]:
    """A file or folder, then everything inside it, depth first."""
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
        raise UsageError(
            f"{path} cannot be listed: {error.strerror}; check its permissions."
        ) from None
    if len(inside) > MOST_ENTRIES:
        return
    for entry in inside:
        if not entry.name.startswith(".") and not entry.is_symlink():
            yield from candidates(path / entry.name, depth + 1)


def fingerprint(path: Path) -> str:
    """The SHA-256 of a file, or of the names and contents of the files of a folder or pattern.

    Links to files count as files, because texts are read through them.
    """
    if path.is_file():
        return digest(path)
    return digest_of_files(
        {
            (file.relative_to(path) if path.is_dir() else file).as_posix(): file
            for file in (path.rglob("*") if path.is_dir() else text_files(path))
            if file.is_file()
        }
    )


def digest_of_files(files: Mapping[str, Path]) -> str:
    """The SHA-256 of a list of digests and names of files, sorted by the given names."""
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
        raise UsageError(
            f"{path} cannot be read: {error.strerror}; check its permissions."
        ) from None


def fingerprints(needs: Sequence[Need], data: Mapping[str, Path]) -> dict[str, str]:
    """The fingerprint of each corpus, by kind."""
    sums = {}
    for need in needs:
        if need.kind in data:
            path = data[need.kind]
            listed = {file.as_posix(): file for file in need.files(path)} if need.files else None
            sums[need.kind] = fingerprint(path) if listed is None else digest_of_files(listed)
    return sums
