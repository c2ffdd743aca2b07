"""Many classes: the time per document by number of classes, and one pass over a text."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import orjson

from learners.index.base import IndexLearner
from learners.sparse_scores import SparseScores
from learners.specs import parse_spec
from pipeline.corpora import open_source
from pipeline.engine.lane import share
from tests.bench.speed import line, vw_run
from tests.bench.workload import workload_of, write_vw
from tests.conftest import ARCHIVES, REPOSITORY

DATA = Path(os.environ.get("WIRERANK_DATA", REPOSITORY.parent / "shared" / "data"))
AUSTEN = DATA / ARCHIVES["jane-austen"]
LANE = "feature-focus"
CLASSES = (10, 100, 1_000, 10_000, 100_000)
DENSE = "perceptron"
PAPER_SECONDS = 40  # one pass over 749,000 words with 17,400 classes, on a computer of 2009

# Runs a replay in a separate process, to measure its peak memory; prints the report and the peak.
REPLAY = """
import resource, sys, orjson
from pipeline.commands.app import new_app, run_app
try:
    run_app(new_app())
finally:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak {peak}", file=sys.stderr)
"""


def replayed(source: str, lane: str, folder: Path) -> tuple[dict[str, float], float]:
    """The report of a replay, and its peak memory in MiB."""
    report = folder / "report.json"
    command = [sys.executable, "-c", REPLAY, "replay", source, "--lane", lane]
    done = subprocess.run(
        [*command, "--report", str(report)], check=True, capture_output=True, text=True
    )
    peak = int(done.stderr.rsplit("peak ", 1)[1])
    actual: dict[str, float] = orjson.loads(report.read_bytes())[lane]
    return actual, peak / 1024


def run(documents: int, folder: Path) -> None:
    """Print the time and memory with ten to a hundred thousand classes."""
    print(f"{documents:,} documents of `synthetic:N,classes=K`, lane {LANE} (and {DENSE} for few)")
    print(
        f"  {'classes':>8}{'learned':>9}{'us/document':>15}{'x':>7}{'replay us':>11}{'R1':>7}"
        f"{'connections':>13}{'touched':>9}{'model MiB':>11}{'peak MiB':>10}{DENSE + ' us':>15}"
    )
    first = 0.0
    for classes in CLASSES:
        source = f"synthetic:{documents},classes={classes}"
        actual, peak = replayed(source, LANE, folder)
        each = 1e6 * actual["learner_seconds"] / documents
        first = first or each
        dense = ""
        if classes <= 1_000:
            some = documents // 10
            other, _ = replayed(f"synthetic:{some},classes={classes}", DENSE, folder)
            dense = f"{1e6 * other['learner_seconds'] / some:.1f}"
        print(
            f"  {classes:8,}{actual['topics']:9,}{each:15.1f}{each / first:7.2f}"
            f"{1e6 * actual['seconds'] / documents:11.1f}{actual['r1']:7.3f}"
            f"{actual['connections']:13,}{actual['connections_per_feature']:9.1f}"
            f"{actual['model_bytes'] / 2**20:11.1f}{peak:10.0f}{dense:>15}"
        )


def run_words(text: Path, folder: Path) -> None:
    """Print the time of one pass over a text, beside Vowpal Wabbit's time for the same words."""
    if not text.exists():
        print(f"Words: {text} does not exist; name a text file or a folder of texts with --text")
        return
    workload = workload_of(open_source(f"text:{text}"), max_topics=1 << 17, max_terms=1 << 23)
    words = len(workload.raw)
    print(
        f"{words:,} words of {text.name}, {len(workload.topics):,} classes, {workload.terms:,} "
        f"features, {workload.features_per_document:.1f} per word"
    )
    write_vw(workload.segments, folder / "words.vw", first_label=1)
    seconds, hits = 0.0, 0
    learner = parse_spec(LANE).build()
    assert isinstance(learner, IndexLearner)
    for segment in workload.segments:
        unit = share(segment, {"l2"}).by_norm["l2"]
        scores = SparseScores(len(unit.rows), unit.topics)
        started = time.perf_counter()
        learner.follow(unit, scores)
        places = scores.places(unit.steps)
        seconds += time.perf_counter() - started
        hits += int((places.hits == 1).sum())
    line(f"Wirerank {LANE}: R1 {hits / words:.3f} of all words", seconds, words)
    print(f"    the pass takes {seconds:.1f} s; the paper's took {PAPER_SECONDS} s (749,000 words)")
    for task in (f"--recall_tree {len(workload.topics)}", f"--log_multi {len(workload.topics)}"):
        theirs, loss = vw_run(folder / "words.vw", task, repeats=1)
        line(f"Vowpal Wabbit {task}: R1 {1 - loss:.3f}", theirs, words)
        print(f"    {theirs:.1f} s, {theirs / seconds:.2f} times the pass above")
