"""How time and memory grow: with topics, terms, documents, lanes and shards."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import NamedTuple

from tests.bench.peers.comparison import Effort, key_of, repeat
from tests.bench.peers.corpus import Corpus
from tests.bench.peers.programs_list import (
    FROM_FILES,
    MMP,
    OAA,
    PLT,
    SCIKIT,
    SIZES,
    SOFT_AROW,
    wirerank,
)
from tests.bench.peers.runner import Program, Store, run_program

COMPARED = (SOFT_AROW, MMP, PLT, OAA, SCIKIT)
WORDS = (45, 90, 180, 360, 720)
DOCUMENTS = (2_500, 5_000, 10_000, 20_000, 40_000)
LANES = (1, 2, 4, 8)
SHARDS = (1, 2, 4)
OF_LANES, OF_SHARDS = Corpus(100, 10_000), Corpus(3_000, 2_000)


class Point(NamedTuple):
    """One run of a series: where on the axis, and which program on which corpus."""

    at: int
    series: str
    program: Program
    corpus: Corpus


class Panel(NamedTuple):
    """One diagram."""

    name: str
    about: str  # what is kept constant
    points: list[Point]


class Grown(NamedTuple):
    """A measured point; the median if there are several runs."""

    at: int
    microseconds: float
    mib: float


def lanes(number: int) -> Program:
    """Wirerank with equal lanes."""
    specs = "+".join(f"soft-arow:name=lane{i}" for i in range(1, number + 1))
    return wirerank(f"{number} lanes", specs, apart=False)


def shards(lane: str, number: int) -> Program:
    """Wirerank with a lane in shards, as threads of one process."""
    separator = "," if ":" in lane else ":"
    divided = f"{separator}shards={number}" if number > 1 else ""
    return wirerank(f"{lane}, {number} shards", f"{lane}{divided}", apart=False)


def panels() -> list[Panel]:
    """All diagrams. That of topics takes its runs from the comparison."""
    return [
        Panel(
            "topics",
            "180 words; fewer documents, the more topics",
            [Point(c.topics, p.name, p, c) for c in SIZES for p in FROM_FILES],
        ),
        Panel(
            "words per document",
            "100 topics, 4,000 documents",
            [Point(w, p.name, p, Corpus(100, 4_000, w)) for w in WORDS for p in COMPARED],
        ),
        Panel(
            "documents",
            "100 topics, 180 words",
            [Point(n, p.name, p, Corpus(100, n)) for n in DOCUMENTS for p in COMPARED],
        ),
        Panel(
            "lanes",
            "soft-arow, 100 topics",
            [Point(n, SOFT_AROW.name, lanes(n), OF_LANES) for n in LANES],
        ),
        Panel(
            "shards",
            "3,000 topics; threads of one process",
            [
                Point(n, program.name, shards(lane, n), OF_SHARDS)
                for lane, program in (("soft-arow", SOFT_AROW), ("mmp:loss=1", MMP))
                for n in SHARDS
            ],
        ),
    ]


def run_growth(store: Store, effort: Effort) -> None:
    """Run what is missing."""
    for panel in panels():
        for corpus in dict.fromkeys(point.corpus for point in panel.points):
            programs = [point.program for point in panel.points if point.corpus == corpus]
            repeat(store, programs, corpus, partial(run_program, limit=effort.limit), turns=1)


def curves(store: Store, panel: Panel) -> dict[str, list[Grown]]:
    """The measured points of a diagram, by series; what failed is left out."""
    drawn: dict[str, list[Grown]] = {}
    for point in panel.points:
        runs = [r for r in store.runs(key_of(point.program, point.corpus)) if not r.failure]
        if runs:
            times, sizes = [r.processor_microseconds for r in runs], [r.mib for r in runs]
            grown = Grown(point.at, median(times), median(sizes))
            drawn.setdefault(point.series, []).append(grown)
    return drawn
