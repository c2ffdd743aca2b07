"""TREC runs and judgements: what several systems retrieved for queries, and what was relevant.

A run has lines `query Q0 document rank score tag`, judgements (qrels) `query iteration document
grade`. As in trec_eval the rank that a run states is not looked at: documents are in order of
falling score, equals by falling name; what was not judged is not relevant; and queries that were
not judged do not count.
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
from pipeline.corpora.jsonl import JsonLines
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
from pipeline.corpora.source import SourceError
from pipeline.retrieval.query_sets import QuerySet

DEPTH = 1000
MOST_RUNS = 200
# What people put beside runs; a README may show what a line of a run looks like.
NO_RUN = re.compile(r"^(readme|licen[cs]e)|\.(md|html?|pdf)$", re.IGNORECASE)
LOOKED_AT = 20  # lines that are not blank
MOST_NAMED = 10
LEAST_GRADE = -10  # spam and such
HOW = (
    "expected RUNS,QRELS: a folder, file or pattern ('runs/*.gz') of runs, a comma, and the file "
    "of judgements"
)
OF_RUNS = "query Q0 document rank score tag"
OF_JUDGEMENTS = f"query iteration document grade, the grade from {LEAST_GRADE} to 30"

Judgements = dict[str, dict[str, int]]  # grades by query and document


class Retrieved(NamedTuple):
    """What a run has for a query: documents and their scores, best first."""

    documents: Sequence[str]
    scores: Sequence[float]


Run = dict[str, Retrieved]


class Trec(QueryDocumentStream):
    """Source of the documents that any run has for a judged query."""

    def __init__(self, where: str, depth: int = DEPTH, normalise: str = "minmax") -> None:
        super().__init__(read_trec(where, depth), normalise)


class TrecFiles(NamedTuple):
    """What `RUNS,QRELS` stands for."""

    runs: list[Path]
    judgements: Path
    left_out: list[Path]  # beside the runs, and none of them

    def remarks(self) -> list[str]:
        """What was left out, for whoever thinks that it is a run."""
        if not self.left_out:
            return []
        names = ", ".join(path.name for path in self.left_out[:MOST_NAMED])
        more = len(self.left_out) - MOST_NAMED
        return [
            f"trec: left out as no runs, by their names or their first {LOOKED_AT} lines "
            f"(expected {OF_RUNS}): {names}{f' and {more:,} more' if more > 0 else ''}."
        ]


def trec_files(where: str) -> TrecFiles:
    """The runs and the judgements that `RUNS,QRELS` stands for.

    In a folder, or by a pattern, what is no run is left out; a file that is named is one.
    """
    runs, comma, qrels = where.rpartition(",")
    if not comma or not runs or not qrels:
        raise SourceError(f"{where!r} has no comma with something on both sides; {HOW}")
    judgements = Path(qrels)
    if not judgements.is_file():
        raise SourceError(f"{judgements} is no file; {HOW}")
    path = Path(runs)
    if path.is_file():
        return TrecFiles([path], judgements, [])
    inside = path.iterdir() if path.is_dir() else map(Path, glob(runs, recursive=True))
    files = sorted(p for p in inside if p.is_file() and not p.name.startswith("."))
    found = TrecFiles([], judgements, [])
    for one in files:
        if not one.samefile(judgements):
            (found.runs if meant_as_run(one) else found.left_out).append(one)
        if len(found.runs) > MOST_RUNS:
            raise SourceError(f"{runs} has more than {MOST_RUNS} runs, which is all that is read")
    if not found.runs:
        raise SourceError(" ".join((f"{runs} has no runs; {HOW}.", *found.remarks())))
    return found


def meant_as_run(path: Path) -> bool:
    """Whether a file is a run, be it one with errors: some line at its beginning looks like one.

    A file without lines counts as a run: one that failed, and is to be looked at.
    """
    if NO_RUN.search(path.name):
        return False
    lines = (line for line in JsonLines(path, LONGEST_LINE) if line.strip())
    first = [line.split() for line in islice(lines, LOOKED_AT)]
    return not first or any(
        (len(fields) == 6 and read_number(fields[4]) is not None)
        or (len(fields) >= 5 and fields[1] == b"Q0")  # judgements may have it, too, but four fields
        for fields in first
    )


def read_trec(where: str, depth: int = DEPTH) -> QuerySet:
    """The documents that are among the first `depth` of any run, for every query that was judged.

    A run that does not have a document there has no value for it.
    """
    if depth < 1:
        raise SourceError(f"depth={depth}: expected how many documents of a run count, 1 or more")
    files = trec_files(where)
    judgements = read_judgements(files.judgements)
    runs = [read_run(one, judgements, depth) for one in files.runs]
    return united(run_names(files.runs), runs, judgements)


def run_names(paths: Sequence[Path]) -> tuple[str, ...]:
    """What runs are called: as their files, in folders where that is not enough."""
    names = [path.name.removesuffix(".gz") for path in paths]
    counts = Counter(names)
    return tuple(
        name if counts[name] == 1 else path.as_posix()
        for name, path in zip(names, paths, strict=True)
    )


def read_judgements(path: Path) -> Judgements:
    """Read a file of judgements."""
    found: Judgements = {}
    for number, line in numbered_lines(path):
        fields = line.split()
        grade = read_grade(fields[3], LEAST_GRADE) if len(fields) == 4 else None
        query, document = (
            (read_name(fields[0]), read_name(fields[2])) if fields[2:] else (None,) * 2
        )
        if grade is None or query is None or document is None:
            raise unexpected(str(path), number, OF_JUDGEMENTS, line)
        mine = found.setdefault(query, {})
        if document in mine:
            raise unexpected(str(path), number, "each document once a query", line)
        mine[document] = grade
    if not found:
        raise SourceError(f"{path} has no judgements; expected lines of {OF_JUDGEMENTS}")
    return found


def read_run(path: Path, judgements: Judgements, depth: int) -> Run:
    """Read a run: of every judged query its first `depth` documents."""
    documents: dict[str, dict[str, float]] = {}
    names: dict[bytes, str] = {}  # each is kept once, however many queries have it
    for number, line in numbered_lines(path):
        fields = line.split()
        if len(fields) != 6:
            raise unexpected(str(path), number, OF_RUNS, line)
        score = read_number(fields[4])
        query = names.get(fields[0]) or read_name(fields[0])
        document = names.get(fields[2]) or read_name(fields[2])
        if query is None or document is None or score is None:
            raise unexpected(str(path), number, f"{OF_RUNS}, the score a finite number", line)
        names[fields[0]], names[fields[2]] = query, document
        if query in judgements:
            mine = documents.setdefault(query, {})
            if document in mine:
                raise unexpected(str(path), number, "each document once a query", line)
            mine[document] = score
    if not documents:
        raise SourceError(f"{path} has no document for a judged query; expected a run: {OF_RUNS}")
    return {query: best(mine, depth) for query, mine in documents.items()}


def best(scores: Mapping[str, float], depth: int) -> Retrieved:
    """The first documents by falling score; equals by falling name."""
    order = sorted(scores, key=lambda document: (scores[document], document), reverse=True)[:depth]
    return Retrieved(order, array("d", (scores[document] for document in order)))


def united(names: tuple[str, ...], runs: Sequence[Run], judgements: Judgements) -> QuerySet:
    """All that the runs have, query by query, documents by falling name."""
    queries = {query for run in runs for query in run}
    in_order = sorted(queries, key=lambda query: (len(query), query))  # numbers as numbers
    blocks, documents, grades, known, lengths = [], [], array("q"), [], []
    room = MOST_VALUES
    for query in in_order:
        mine = [run.get(query, Retrieved((), ())) for run in runs]
        union = sorted({name for one in mine for name in one.documents}, reverse=True)
        room -= len(union) * len(runs)
        if room < 0:
            raise SourceError(
                f"the runs have more than {MOST_VALUES:,} scores; name fewer, or a smaller depth"
            )
        place = {name: row for row, name in enumerate(union)}
        values = np.full((len(union), len(runs)), np.nan)
        for column, one in enumerate(mine):
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
    """Those of a query's relevant documents, retrieved or not, falling."""
    return np.array(sorted((g for g in judged.values() if g > 0), reverse=True), np.int64)
