"""Plain text as a stream of word predictions: each word is a class, its neighbours are features.

As in the word prediction of Madani, Connor and Greiner (2010): three words on either side, and
their conjunctions, which here are the runs of two and three neighbours. A run may reach across
the word itself, but never across the end of its sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path

import orjson

from pipeline.corpora.source import Room, SourceError
from pipeline.terms import MAX_TERM_BYTES

SENTENCE_END = re.compile(r"[.!?]+(?=\s|[\"\u201d\u2019')_]|$)|\n\s*\n")
WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
SIDE = 3
LONGEST_RUN = 3
ROOM = Room(topics=1 << 16, terms=1 << 22)  # six novels have 16,190 words and 2,989,070 runs


class TextWords:
    """The words of text files, in order of their names.

    That is one file, all `.txt` files of a folder, or all that match a pattern (`novels/*.txt`,
    `**` for folders of any depth). Commas do not part files: a path may have them.
    """

    def __init__(self, path: Path) -> None:
        self._files = text_files(path)
        if not self._files:
            raise SourceError(
                f"{path}: expected a text file, a folder with .txt files, or a pattern such as "
                "novels/*.txt, found none"
            )
        stems = Counter(file.stem for file in self._files)
        # Files of one name in several folders are told apart by their paths.
        self._names = [f.stem if stems[f.stem] == 1 else f.as_posix() for f in self._files]

    @property
    def topics(self) -> Sequence[str]:
        """Words are discovered."""
        return ()

    @property
    def total(self) -> int | None:
        """Not known before the text is read."""
        return None

    def __iter__(self) -> Iterator[bytes]:
        for path, name in zip(self._files, self._names, strict=True):
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise SourceError(f"{path} cannot be read as UTF-8 text: {error}") from None
            number = 0
            for sentence in SENTENCE_END.split(text):
                words = WORD.findall(sentence)
                for place, word in enumerate(words):
                    number += 1
                    features = neighbours(words, place)
                    if features:
                        event = {"id": f"{name}-{number}", "features": features}
                        yield orjson.dumps({**event, "topics": [word[:MAX_TERM_BYTES]]})


def text_files(path: Path) -> list[Path]:
    """The files that a path or a pattern stands for, sorted."""
    if path.is_file():  # whatever its name looks like
        return [path]
    found = path.glob("*.txt") if path.is_dir() else map(Path, glob(str(path), recursive=True))
    return sorted(file for file in found if file.is_file())


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
