"""TREC runs and judgements: the documents that systems retrieved for queries, and their relevance.

A run has lines `query Q0 document rank score tag`, judgements (qrels) `query iteration document
grade`. As in trec_eval the stated rank is ignored: documents are ranked by falling score, equal
scores by falling name. Documents without a judgement are not relevant, and queries without
judgements are left out.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from glob import glob
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from learners.arrays import Longs
from pipeline.corpora.lines import file_lines
from pipeline.corpora.packed import unpacked_name
from pipeline.corpora.query_document_stream import QueryDocumentStream
from pipeline.corpora.query_file_lines import (
    LONGEST_LINE,
    MOST_VALUES,
    numbered_lines,
    read_grade,
    read_name,
    read_number,
    unexpected,
)
from pipeline.corpora.source import SourceError, valid_text
from pipeline.retrieval.query_sets import QuerySet

DEPTH = 1000
MOST_RUNS = 200
# Files that often lie beside runs; a README may contain an example line of a run.
NO_RUN = re.compile(r"^(readme|licen[cs]e)|\.(md|html?|pdf)$", re.IGNORECASE)
LOOKED_AT = 20  # non-blank lines that decide whether a file is a run
MOST_NAMED = 10
LEAST_GRADE = -10  # some collections mark spam with negative grades
HOW = (
    "expected RUNS,QRELS: a folder, file or pattern ('runs/*.gz') of runs, a comma, and the file "
    "of judgements"
)
OF_RUNS = "query Q0 document rank score tag"
OF_JUDGEMENTS = f"query iteration document grade, the grade from {LEAST_GRADE} to 30"

Judgements = dict[str, dict[str, int]]  # grades by query and document


class Retrieved(NamedTuple):
    """The documents that a run retrieved for a query, with their scores, best first."""

    documents: Sequence[str]
    scores: Sequence[float]


Run = dict[str, Retrieved]


class Trec(QueryDocumentStream):
    """Source of the documents that at least one run retrieved for a judged query."""

    def __init__(self, where: str, depth: int = DEPTH, normalise: str = "minmax") -> None:
        super().__init__(read_trec(where, depth), normalise)


class TrecFiles(NamedTuple):
    """The files that `RUNS,QRELS` stands for."""

    runs: list[Path]
    judgements: Path
    left_out: list[Path]  # files beside the runs that are not runs

    def remarks(self) -> list[str]:
        """A remark on the files that are left out, for users who expect them to be runs."""
        if not self.left_out:
            return []
        names = ", ".join(path.name for path in self.left_out[:MOST_NAMED])
        more = len(self.left_out) - MOST_NAMED
        return [
            f"trec: these files are left out, because their names or first {LOOKED_AT} lines are "
            f"not those of runs (expected lines {OF_RUNS}): "
            f"{names}{f' and {more:,} more' if more > 0 else ''}."
        ]


def trec_files(where: str) -> TrecFiles:
    """The runs and the judgements that `RUNS,QRELS` stands for.

    Of a folder or a pattern, files that are not runs are left out; a single file is always a run.
    """
    runs, comma, qrels = where.rpartition(",")
    if not comma or not runs or not qrels:
        raise SourceError(f"{where!r} does not have text on both sides of a comma; {HOW}")
    judgements = Path(qrels)
    if not judgements.is_file():
        raise SourceError(f"{judgements} is not a file; {HOW}")
    path = Path(runs)
    if path.is_file():
        return TrecFiles([path], judgements, [])
    inside = path.iterdir() if path.is_dir() else map(Path, glob(runs, recursive=True))
    files = sorted(p for p in inside if p.is_file() and not p.name.startswith("."))
    sorted_out = TrecFiles([], judgements, [])
    for file in files:
        if not file.samefile(judgements):
            (sorted_out.runs if meant_as_run(file) else sorted_out.left_out).append(file)
        if len(sorted_out.runs) > MOST_RUNS:
            raise SourceError(
                f"{runs} has more than {MOST_RUNS} runs, which is the limit; name fewer"
            )
    if not sorted_out.runs:
        raise SourceError(" ".join((f"{runs} has no runs; {HOW}.", *sorted_out.remarks())))
    return sorted_out


def meant_as_run(path: Path) -> bool:
    """Whether a file is a run, possibly with errors: one of its first lines looks like a run's.

    An empty file counts as a run, so that a failed run is reported.
    """
    if NO_RUN.search(path.name):
        return False
    lines = (line for line in file_lines(path, LONGEST_LINE) if line.strip())
    first = [line.split() for line in islice(lines, LOOKED_AT)]
    return not first or any(
        (len(fields) == 6 and read_number(fields[4]) is not None)
        or (len(fields) >= 5 and fields[1] == b"Q0")  # judgements with Q0 have only four fields
        for fields in first
    )


def read_trec(where: str, depth: int = DEPTH) -> QuerySet:
    """For every judged query the documents that are among the first `depth` of any run.

    A document has no value (NaN) for a run that does not have it among its first `depth`.
    """
    if depth < 1:
        raise SourceError(
            f"depth={depth} is too small; expected the number of documents per query and run, 1 or "
            "more"
        )
    files = trec_files(where)
    judgements = read_judgements(files.judgements)
    runs = [read_run(one, judgements, depth) for one in files.runs]
    return united(run_names(files.runs), runs, judgements)


def run_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """The names of runs: their file names, with folders where names would be equal."""
    names = [unpacked_name(path.name) for path in paths]
    counts = Counter(names)
    return tuple(
        valid_text(name if counts[name] == 1 else path.as_posix())
        for name, path in zip(names, paths, strict=True)
    )


def read_judgements(path: Path) -> Judgements:
    """Read a file of judgements."""
    judgements: Judgements = {}
    for number, line in numbered_lines(path):
        fields = line.split()
        grade = read_grade(fields[3], LEAST_GRADE) if len(fields) == 4 else None
        query, document = (
            (read_name(fields[0]), read_name(fields[2])) if fields[2:] else (None,) * 2
        )
        if grade is None or query is None or document is None:
            raise unexpected(str(path), number, OF_JUDGEMENTS, line)
        of_query = judgements.setdefault(query, {})
        if document in of_query:
            raise unexpected(str(path), number, "each document once per query", line)
        of_query[document] = grade
    if not judgements:
        raise SourceError(f"{path} has no judgements; expected lines {OF_JUDGEMENTS}")
    return judgements


def read_run(path: Path, judgements: Judgements, depth: int) -> Run:
    """Read the first `depth` documents of every judged query from a run."""
    documents: dict[str, dict[str, float]] = {}
    names: dict[bytes, str] = {}  # keeps each name once, however many queries have it
    for number, line in numbered_lines(path):
        fields = line.split()
        if len(fields) != 6:
            raise unexpected(str(path), number, OF_RUNS, line)
        score = read_number(fields[4])
        query = names.get(fields[0]) or read_name(fields[0])
        document = names.get(fields[2]) or read_name(fields[2])
        if query is None or document is None or score is None:
            raise unexpected(str(path), number, f"{OF_RUNS} with a finite score", line)
        names[fields[0]], names[fields[2]] = query, document
        if query in judgements:
            of_query = documents.setdefault(query, {})
            if document in of_query:
                raise unexpected(str(path), number, "each document once per query", line)
            of_query[document] = score
    if not documents:
        raise SourceError(
            f"{path} has no document for a judged query; expected a run with lines {OF_RUNS}"
        )
    return {query: best(of_query, depth) for query, of_query in documents.items()}


def best(scores: Mapping[str, float], depth: int) -> Retrieved:
    """The first `depth` documents by falling score, equal scores by falling name."""
    order = sorted(scores, key=lambda document: (scores[document], document), reverse=True)[:depth]
    return Retrieved(order, array("d", (scores[document] for document in order)))


def united(names: tuple[str, ...], runs: Sequence[Run], judgements: Judgements) -> QuerySet:
    """The documents of all runs as one query set, query by query, by falling name."""
    queries = {query for run in runs for query in run}
    in_order = sorted(queries, key=lambda query: (len(query), query))  # numbers as numbers
    blocks, documents, grades, known, lengths = [], [], array("q"), [], []
    room = MOST_VALUES
    for query in in_order:
        by_run = [run.get(query, Retrieved((), ())) for run in runs]
        union = sorted({name for one in by_run for name in one.documents}, reverse=True)
        room -= len(union) * len(runs)
        if room < 0:
            raise SourceError(
                f"the runs have more than {MOST_VALUES:,} scores, which is the limit; name fewer "
                "runs, or a smaller depth"
            )
        place = {name: row for row, name in enumerate(union)}
        values = np.full((len(union), len(runs)), np.nan)
        for column, one in enumerate(by_run):
            values[[place[name] for name in one.documents], column] = one.scores
        judged = judgements[query]
        blocks.append(values)
        documents += union
        grades.extend(max(0, judged.get(name, 0)) for name in union)
        known.append(relevant_grades(judged))
        lengths.append(len(union))
    return QuerySet(
        names, tuple(in_order), ("",) * len(in_order),
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64), tuple(documents),
        np.array(grades, np.int64), np.concatenate(blocks), tuple(known),
    )  # fmt: skip


def relevant_grades(judged: Mapping[str, int]) -> Longs:
    """The grades of the relevant documents of a query, retrieved or not, falling."""
    return np.array(sorted((g for g in judged.values() if g > 0), reverse=True), np.int64)
