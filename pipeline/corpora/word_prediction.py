"""Plain text as a stream of word predictions: each word is a class, its neighbours are features.

As in the word prediction of Madani, Connor and Greiner (2010), the features are the three words on
either side and their conjunctions, which here are runs of two and three neighbours. A run may skip
the word itself, but never crosses the end of its sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from glob import glob
from itertools import groupby
from pathlib import Path, PurePosixPath

import orjson

from pipeline.corpora.corpus_files import ARCHIVES, ArchiveFiles, Files
from pipeline.corpora.source import SourceError, SourceSize, valid_text
from pipeline.text.terms import MAX_TERM_BYTES

# A run of punctuation marks is matched once, from its first mark, because it may be very long.
SENTENCE_END = re.compile(r"(?<![.!?])[.!?]++(?=\s|[\"\u201d\u2019')_]|$)|\n\s*\n")
WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
SIDE = 3
LONGEST_RUN = 3
SIZE = SourceSize(topics=1 << 16, terms=1 << 22)  # six novels have 16,190 words and 2,989,070 runs


class TextWords:
    """The words of text files, in the order of the files' names.

    The files are a single file, all `.txt` files of a folder or tar archive, or all files that
    match a pattern (`novels/*.txt`; `**` matches folders of any depth). A comma is part of a path.
    """

    topics: Sequence[str] = ()  # words are discovered
    total: int | None = None  # not known before the text is read

    def __init__(self, path: Path) -> None:
        self._files: Files
        if path.is_file() and path.name.endswith(ARCHIVES):
            self._files = ArchiveFiles(path, lambda name: name.endswith(".txt"))
        else:
            self._files = PlainFiles(text_files(path))
        if not self._files.names:
            raise SourceError(
                f"{path}: expected a text file, a folder or archive with .txt files, or a pattern "
                "such as novels/*.txt, found none"
            )

    def sentences(self) -> Iterator[tuple[str, list[str]]]:
        """The words of every sentence, with the name of its file."""
        for name in self._files.names:
            try:
                text = self._files.read(name).decode()
            except UnicodeDecodeError as error:
                raise SourceError(f"{name} cannot be read as UTF-8 text: {error}") from None
            for sentence in SENTENCE_END.split(text.replace("\r\n", "\n").replace("\r", "\n")):
                yield name, WORD.findall(sentence)

    def __iter__(self) -> Iterator[bytes]:
        stems = Counter(PurePosixPath(name).stem for name in self._files.names)
        for name, sentences in groupby(self.sentences(), key=lambda one: one[0]):
            stem = PurePosixPath(name).stem
            # Files with the same name in several folders are named by their paths.
            known_as = valid_text(stem if stems[stem] == 1 else name)
            number = 0
            for _, words in sentences:
                for place, word in enumerate(words):
                    number += 1
                    features = neighbours(words, place)
                    if features:
                        event = {"id": f"{known_as}-{number}", "features": features}
                        yield orjson.dumps({**event, "topics": [word[:MAX_TERM_BYTES]]})


class PlainFiles:
    """Files of any size, read on demand."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.names = tuple(path.as_posix() for path in paths)

    def read(self, name: str) -> bytes:
        """Read a file."""
        try:
            return Path(name).read_bytes()
        except OSError as error:
            raise SourceError(f"{name} cannot be read as UTF-8 text: {error}") from None


def text_files(path: Path) -> list[Path]:
    """The files of a path or a pattern, sorted."""
    if path.is_file():  # even if its name looks like a pattern
        return [path]
    paths = path.glob("*.txt") if path.is_dir() else map(Path, glob(str(path), recursive=True))
    return sorted(file for file in paths if file.is_file())


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
