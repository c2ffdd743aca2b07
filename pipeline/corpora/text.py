"""Plain text as a stream of word predictions: each word is a class, its neighbours are features.

As in the word prediction of Madani, Connor and Greiner (2010): three words on either side, and
their conjunctions, which here are the runs of two and three neighbours. A run may reach across
the word itself, but never across the end of its sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import orjson

from pipeline.corpora.files import ArchiveFiles, Files
from pipeline.corpora.source import SourceError
from pipeline.terms import MAX_TERM_BYTES

SENTENCE_END = re.compile(r"[.!?]+(?=\s|[\"\u201d\u2019')_]|$)|\n\s*\n")
WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
SIDE = 3
LONGEST_RUN = 3
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz")


class TextWords:
    """The words of a text file, or of all `.txt` files of a folder or archive, by their names."""

    def __init__(self, path: Path) -> None:
        self._files: Files
        if path.is_file() and path.name.endswith(ARCHIVES):
            self._files = ArchiveFiles(path, is_text)
        else:
            self._files = PlainFiles(path)
        if not self._files.names:
            raise SourceError(
                f"{path}: expected a text file, or a folder or archive with .txt files, found none"
            )

    @property
    def topics(self) -> Sequence[str]:
        """Words are discovered."""
        return ()

    @property
    def total(self) -> int | None:
        """Not known before the text is read."""
        return None

    def sentences(self) -> Iterator[tuple[str, list[str]]]:
        """The words of every sentence, with the name of the text that it is from."""
        for name in self._files.names:
            try:
                text = self._files.read(name).decode()
            except UnicodeDecodeError as error:
                raise SourceError(f"{name} cannot be read as UTF-8 text: {error}") from None
            for sentence in SENTENCE_END.split(text.replace("\r\n", "\n").replace("\r", "\n")):
                yield PurePosixPath(name).stem, WORD.findall(sentence)

    def __iter__(self) -> Iterator[bytes]:
        before, number = "", 0
        for name, words in self.sentences():
            if name != before:
                before, number = name, 0
            for place, word in enumerate(words):
                number += 1
                features = neighbours(words, place)
                if features:
                    event = {"id": f"{name}-{number}", "features": features}
                    yield orjson.dumps({**event, "topics": [word[:MAX_TERM_BYTES]]})


class PlainFiles:
    """A text file, or the `.txt` files of a folder."""

    def __init__(self, path: Path) -> None:
        paths = sorted(path.glob("*.txt")) if path.is_dir() else [path]
        self._paths = {str(file): file for file in paths if file.is_file()}

    @property
    def names(self) -> tuple[str, ...]:
        """Every file there is to read."""
        return tuple(self._paths)

    def read(self, name: str) -> bytes:
        """Read one of them."""
        try:
            return self._paths[name].read_bytes()
        except OSError as error:
            raise SourceError(f"{name} cannot be read: {error}") from None


def is_text(name: str) -> bool:
    """Whether a member of an archive is one of the texts."""
    return name.endswith(".txt")


def neighbours(words: Sequence[str], place: int) -> dict[str, int]:
    """The features of a word: runs of one to three of the words beside it.

    >>> list(neighbours("it is a truth".split(), 1))
    ['-1:it', '-1:it 1:a', '-1:it 1:a 2:truth', '1:a', '1:a 2:truth', '2:truth']
    """
    around = [
        f"{at - place}:{words[at]}"
        for at in range(max(0, place - SIDE), min(len(words), place + SIDE + 1))
        if at != place
    ]
    runs = [
        " ".join(around[start:stop])
        for start in range(len(around))
        for stop in range(start + 1, min(start + LONGEST_RUN, len(around)) + 1)
    ]
    return {run: 1 for run in runs if len(run.encode()) <= MAX_TERM_BYTES}
