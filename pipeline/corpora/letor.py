"""LETOR files: the documents of queries as feature vectors, with relevance grades.

The format is SVMlight's with a query: `grade qid:N 1:value 2:value .. #docid = NAME ..`. A feature
that a line does not list is 0; `NULL` is a missing value, as in LETOR's own editions.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from learners.arrays import Longs
from pipeline.corpora.corpus_files import ARCHIVES, open_files
from pipeline.corpora.query_document_stream import QueryDocumentStream
from pipeline.corpora.query_file_lines import (
    MOST_VALUES,
    numbered_lines,
    read_grade,
    read_name,
    read_number,
    unexpected,
)
from pipeline.corpora.source import SourceError
from pipeline.retrieval.query_sets import QuerySet, known_grades

PARTS = ("S1", "S2", "S3", "S4", "S5")  # the parts of LETOR's sets, from which folds are made
MOST_FEATURES = 10_000
DOCUMENT = re.compile(rb"docid\s*=\s*(\S+)")
FORM = "grade qid:N 1:value 2:value .. #docid = NAME"


class Letor(QueryDocumentStream):
    """Source of the documents of all queries, in the order of the file."""

    def __init__(self, path: Path, normalise: str = "none") -> None:
        super().__init__(read_letor(path), normalise)


def read_letor(path: Path) -> QuerySet:
    """The queries of a file, or of all files of a folder or archive."""
    rows = LetorRows()
    for name, lines in files_in(path):
        rows.read(name, lines)
    if not rows.queries:
        raise SourceError(f"{path} has no queries; expected lines such as {FORM!r}")
    return rows.query_set()


def files_in(path: Path) -> Iterator[tuple[str, Iterable[tuple[int, bytes]]]]:
    """The files to read, with their lines; only the five parts, if all of them exist."""
    if path.is_file() and not path.name.endswith(ARCHIVES):
        yield str(path), numbered_lines(path)
        return
    files = open_files(path, is_wanted)
    parts = [name for name in files.names if PurePosixPath(name).stem in PARTS]
    names = parts if len(parts) == len(PARTS) else files.names
    if not names:
        raise SourceError(f"{path}: expected LETOR's .txt files (S1.txt to S5.txt), found none")
    for name in names:
        lines = files.read(name).splitlines()
        yield name, ((n, line) for n, line in enumerate(lines, start=1) if line.strip())


def is_wanted(name: str) -> bool:
    """Whether a file of a folder or archive contains data."""
    file = PurePosixPath(name)
    return file.suffix == ".txt" and file.stem.lower() not in ("readme", "license")


class LetorRows:
    """The rows that have been read so far."""

    def __init__(self) -> None:
        self.queries: dict[str, str] = {}  # the file of each query
        self._open = ("", "")  # the query whose lines are being read, and its file
        self._names: list[str | None] = []
        self._of_query = array("q")
        self._grades = array("q")
        self._counts = array("q")
        self._features = array("q")
        self._values = array("d")
        self._width = 0

    def read(self, name: str, lines: Iterable[tuple[int, bytes]]) -> None:
        """Read the lines of a file."""
        for number, line in lines:
            content, _, comment = line.partition(b"#")
            fields = content.split()
            grade = read_grade(fields[0], 0) if fields else None
            tagged = len(fields) > 1 and fields[1].startswith(b"qid:")
            query = read_name(fields[1].removeprefix(b"qid:")) if tagged else None
            if grade is None or query is None:
                raise unexpected(name, number, f"{FORM!r} with a grade from 0 to 30", line)
            self._enter(name, number, query)
            if not self._read_features(fields[2:]):
                what = f"features as 1:value, each once, numbered from 1 to {MOST_FEATURES:,}"
                raise unexpected(name, number, what, line)
            match = DOCUMENT.search(comment)
            self._names.append(read_name(match[1]) if match else None)
            self._grades.append(grade)
            self._of_query.append(len(self.queries) - 1)
            if len(self._grades) * self._width > MOST_VALUES:
                raise SourceError(
                    f"{name}, line {number}: there are more than {MOST_VALUES:,} values, which is "
                    "the limit; name fewer files"
                )

    def _enter(self, name: str, number: int, query: str) -> None:
        if self._open == (query, name):
            return
        if query in self.queries:
            raise SourceError(
                f"{name}, line {number}: query {query} occurred before, in {self.queries[query]}; "
                "expected all lines of a query together, and each query once. Of several folds, "
                "name one"
            )
        self._open = (query, name)
        self.queries[query] = name

    def _read_features(self, fields: Sequence[bytes]) -> bool:
        """Read the features of a line; return False if they are malformed."""
        seen = set()
        for field in fields:
            feature, _, text = field.partition(b":")
            value = float("nan") if text == b"NULL" else read_number(text)
            if value is None or not feature.isdigit() or len(feature) > 5:
                return False
            place = int(feature)
            if not 1 <= place <= MOST_FEATURES or place in seen:
                return False
            seen.add(place)
            self._features.append(place - 1)
            self._values.append(value)
            self._width = max(self._width, place)
        self._counts.append(len(fields))
        return True

    def query_set(self) -> QuerySet:
        """The query set of all rows; documents with names are in order of falling name."""
        count, width = len(self._grades), self._width
        of_query = np.array(self._of_query, np.int64)
        values = np.zeros((count, width))
        rows = np.repeat(np.arange(count), np.array(self._counts, np.int64))
        values[rows, np.array(self._features, np.int64)] = np.array(self._values)
        starts: Longs = np.searchsorted(of_query, np.arange(len(self.queries) + 1))
        names, order = self._named(starts)
        return QuerySet(
            tuple(f"{feature}" for feature in range(1, width + 1)),
            tuple(self.queries),
            tuple(PurePosixPath(name).stem for name in self.queries.values()),
            starts,
            tuple(names[row] for row in order),
            np.array(self._grades, np.int64)[order],
            values[order],
            known_grades(starts, np.array(self._grades, np.int64)),
        )

    def _named(self, starts: Longs) -> tuple[list[str], Longs]:
        """The names of all documents, and the order to list them in.

        With documents by falling name, equal scores are ranked as in trec_eval, however the file
        is sorted.
        """
        names: list[str] = []
        order: list[int] = []
        for query, start, stop in zip(self.queries, starts[:-1], starts[1:], strict=True):
            given = [name for name in self._names[start:stop] if name is not None]
            if len(set(given)) < len(given):
                twice, _ = Counter(given).most_common(1)[0]
                raise SourceError(
                    f"{self.queries[query]}: query {query} has document {twice} twice; "
                    "expected each once"
                )
            if len(given) == stop - start:
                falling = sorted(range(len(given)), key=given.__getitem__, reverse=True)
                order += (start + place for place in falling)
                names += given
            else:
                order += range(start, stop)
                names += [str(place) for place in range(1, stop - start + 1)]
        return names, np.array(order, np.int64)
