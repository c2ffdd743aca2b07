"""The token files of RCV1-v2 as Lewis et al. (2004) distribute them.

A document is a line `.I 2286`, a line `.W`, and lines of words. The words are stemmed, without stop
words, and not in their original order. A blank line separates documents. Documents have no dates,
but their numbers are in order of time.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

import numpy as np
import orjson

from learners.arrays import Longs
from pipeline.corpora.corpus_files import OpenableFiles
from pipeline.corpora.lines import bounded_lines
from pipeline.corpora.packed import DamagedStreamError, unpacked, unpacked_name
from pipeline.corpora.rcv1_labels import Labels, read_labels
from pipeline.corpora.source import SourceError
from pipeline.events.event import MAX_EVENT_BYTES

MOST_FILES = 64  # open at the same time
READ_BYTES = 1 << 13  # of each of these files at a time
CHUNK = 4096
MOST_DIGITS = 15  # of the number of a document
MAX_SORTED_BYTES = 64 * 2**20  # of words in a file whose documents must be sorted in memory


class Document(NamedTuple):
    """The number of a document and its words."""

    number: int
    words: bytes


class TokenFile(NamedTuple):
    """A token file, and the numbers of its documents in the order of the file."""

    name: str
    numbers: Longs

    @property
    def in_order(self) -> bool:
        """Whether the documents are sorted by number."""
        return bool(np.all(self.numbers[1:] > self.numbers[:-1]))


class TokenDocuments:
    """The documents of all token files, sorted by number, with their topics from the qrels."""

    def __init__(self, path: Path, files: OpenableFiles) -> None:
        self._path = path
        self._files = files
        self._names = unpacked_once(name for name in files.names if is_tokens(name))
        qrels = unpacked_once(name for name in files.names if is_qrels(name))
        if len(self._names) > MOST_FILES:
            raise SourceError(
                f"{path} has {len(self._names)} token files; expected at most {MOST_FILES}: name "
                "the folder of one edition of the corpus"
            )
        if len(qrels) != 1:
            raise SourceError(
                f"{path} has {len(qrels)} topic files beside its token files; expected one: put "
                "rcv1-v2.topics.qrels (or .qrels.gz) there"
            )
        self._qrels = qrels[0]

    @cached_property
    def _labels(self) -> Labels:
        with self._opened(self._qrels) as lines:
            return read_labels(lines, f"{self._path}: {self._qrels}")

    @cached_property
    def _token_files(self) -> Sequence[TokenFile]:
        """All token files with the numbers of their documents; this reads the files once."""
        files = []
        for name in self._names:
            numbers = np.fromiter((document.number for document in self._read(name)), np.int64)
            files.append(TokenFile(name, numbers))
        return files

    @cached_property
    def _numbers(self) -> Longs:
        """The numbers of all documents, ascending."""
        every: Longs = np.concatenate([file.numbers for file in self._token_files])
        if not len(every):
            raise SourceError(f"{self._path} has no documents in {', '.join(self._names)}")
        every.sort()
        twice = every[:-1][every[1:] == every[:-1]]
        if len(twice):
            number = int(twice[0])
            places = [file.name for file in self._token_files if number in file.numbers]
            raise SourceError(
                f"{self._path}: document {number} occurs more than once (in "
                f"{' and in '.join(places)}); remove the duplicate"
            )
        return every

    @property
    def topics(self) -> Sequence[str]:
        """The topic codes of the qrels file, sorted, including those that no document here has."""
        return self._labels.codes

    @property
    def total(self) -> int:
        """The number of documents."""
        return len(self._numbers)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the document events by number; all files are read in parallel."""
        documents = heapq.merge(*map(self._ascending, self._token_files), key=lambda one: one[0])
        for document, (start, stop) in zip(documents, self._places(), strict=True):
            fields = {"id": str(document.number), "text": document.words.decode("latin-1")}
            if start < stop:  # otherwise the document is not labelled
                yield orjson.dumps({**fields, "topics": self._labels.names(start, stop)})
            else:
                yield orjson.dumps(fields)

    def _places(self) -> Iterator[tuple[int, int]]:
        """The positions of the topics of each document, a few thousand documents at a time."""
        for first in range(0, len(self._numbers), CHUNK):
            starts, stops = self._labels.places(self._numbers[first : first + CHUNK])
            yield from zip(starts.tolist(), stops.tolist(), strict=True)

    def _ascending(self, file: TokenFile) -> Iterator[Document]:
        """The documents of a file by number; an unsorted file must be small."""
        if file.in_order:
            return self._read(file.name)
        held, size = [], 0
        for document in self._read(file.name):
            held.append(document)
            size += len(document.words)
            if size > MAX_SORTED_BYTES:
                raise SourceError(
                    f"{self._path}: {file.name} is not sorted by document number, and with more "
                    f"than {MAX_SORTED_BYTES:,} bytes of words it is too large to be sorted in "
                    "memory; sort it first"
                )
        return iter(sorted(held))

    def _read(self, name: str) -> Iterator[Document]:
        with self._opened(name) as file:
            yield from read_documents(file, f"{self._path}: {name}")

    def _opened(self, name: str) -> Lines:
        return Lines(self._files.open(name), f"{self._path}: {name}")


class Lines:
    """The lines of a file, packed or not; an error if one is longer than an event may be."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._name = name
        self._file = file

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[bytes]:
        chunks = unpacked(iter(lambda: self._file.read(READ_BYTES), b""))
        try:
            for line in bounded_lines(chunks, MAX_EVENT_BYTES):
                if len(line) == MAX_EVENT_BYTES:
                    raise SourceError(
                        f"{self._name} has a line of more than {MAX_EVENT_BYTES:,} bytes, longer "
                        "than any in the corpus; check that this is the right file"
                    )
                yield line
        except DamagedStreamError as error:
            raise SourceError(
                f"{self._name} is damaged or cut off: {error}; fetch it again"
            ) from None
        except OSError as error:
            raise SourceError(
                f"{self._name} cannot be read: {error}; check its permissions"
            ) from error


def is_tokens(name: str) -> bool:
    """Whether a file is a token file, judging by its name."""
    base = unpacked_name(PurePosixPath(name).name.lower())  # lyrl2004_tokens_train.dat
    return base.endswith(".dat") and "tokens" in base


def is_qrels(name: str) -> bool:
    """Whether a file is a topic file, judging by its name."""
    base = PurePosixPath(name).name.lower()  # rcv1-v2.topics.qrels
    base = unpacked_name(base).removesuffix(".txt")
    return base.endswith("qrels") and "topics" in base


def unpacked_once(names: Iterator[str]) -> list[str]:
    """The names, without compressed files that also exist uncompressed."""
    every = set(names)
    return sorted(
        name for name in every if (plain := unpacked_name(name)) == name or plain not in every
    )


def read_documents(lines: Lines, name: str) -> Iterator[Document]:
    """The documents of a file in its order; `name` is the name of the file in messages."""
    number, words = -1, list[bytes]()
    within, size = False, 0  # whether `.W` was read, and the bytes of words since
    at = 0
    for at, line in enumerate(lines, 1):
        if line.startswith(b".I"):
            if number >= 0:
                yield finished(number, words, within, f"{name}, line {at}")
            number = number_in(line, f"{name}, line {at}")
            words, within, size = [], False, 0
        elif within:
            words.append(line.strip())
            size += len(line)
            if size > MAX_EVENT_BYTES:
                raise SourceError(
                    f"{name}, line {at}: document {number} has more than {MAX_EVENT_BYTES:,} bytes "
                    "of words, more than any in the corpus; check that this is the right file"
                )
        elif number >= 0 and line.strip() == b".W":
            within = True
        elif line.strip():
            expected = "a line .I NUMBER" if number < 0 else "a line .W"
            raise SourceError(
                f"{name}, line {at}: found {shown(line)}, expected {expected}; check that this is "
                "a token file of LYRL2004"
            )
    if number >= 0:
        yield finished(number, words, within, f"{name}, line {at}")


def finished(number: int, words: list[bytes], within: bool, where: str) -> Document:
    """The document that ends here; an error if it had no line `.W`."""
    if not within:
        raise SourceError(
            f"{where}: document {number} ends without a line .W: the file is cut off or damaged; "
            "get it again"
        )
    return Document(number, b" ".join(words).strip())


def number_in(line: bytes, where: str) -> int:
    """The number of a document, from its first line."""
    parts = line.split()
    if len(parts) == 2 and parts[0] == b".I" and is_number(parts[1]):
        return int(parts[1])
    raise SourceError(
        f"{where}: found {shown(line)}, expected .I and a document number; check that this is a "
        "token file of LYRL2004"
    )


def is_number(text: bytes) -> bool:
    """Whether a text is a document number."""
    return text.isdigit() and len(text) <= MOST_DIGITS


def shown(line: bytes) -> str:
    """The beginning of a line, for a message."""
    return repr(line.strip()[:60].decode("latin-1"))
