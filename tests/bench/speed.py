"""Documents per second, beside Vowpal Wabbit on the same documents in the same run."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from learners.segment import Segment
from learners.specs import parse_spec
from pipeline.commands.stage_times import stage_table, stage_times
from pipeline.engine.warmup import warm_up
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings, parse_lanes
from pipeline.text.tokenizer import Tokenizer
from tests.bench.peers.runner import PEERS_PYTHON
from tests.bench.workload import FOUR_LANES, make_workload, shortened, write_vw

REPEATS = 3


def vw_run(path: Path, task: str, repeats: int = REPEATS) -> tuple[float, float]:
    """The seconds of Vowpal Wabbit for a file, without start-up, and its progressive loss.

    The best of some runs.
    """

    def once(data: Path) -> tuple[float, float]:
        started = time.perf_counter()
        arguments = f"{task} -b 24 --quiet -d {data}"
        command = (
            f"import vowpalwabbit; vw = vowpalwabbit.Workspace({arguments!r}); vw.finish(); "
            "print(vw.get_sum_loss() / vw.get_weighted_examples())"
        )
        done = subprocess.run(
            [PEERS_PYTHON, "-c", command], check=True, capture_output=True, text=True
        )
        return time.perf_counter() - started, float(done.stdout)

    nothing = path.with_suffix(".empty")
    nothing.write_text("1 | 1:1\n")
    seconds, loss = min(once(path) for _ in range(repeats))
    return seconds - min(once(nothing) for _ in range(repeats))[0], loss


def lane_seconds(spec: str, segments: list[Segment]) -> float:
    """The seconds of one lane for vectors in memory; the best of three."""
    best = float("inf")
    for _ in range(REPEATS):
        learner = parse_spec(spec).build()
        rooms = [learner.new_scores(len(segment.rows), segment.topics) for segment in segments]
        started = time.perf_counter()
        for segment, scores in zip(segments, rooms, strict=True):
            learner.follow(segment, scores)
        best = min(best, time.perf_counter() - started)
    return best


def replay_seconds(path: Path, lanes: tuple[str, ...]) -> float:
    """The seconds of a whole replay of a file of raw events; the best of three."""
    settings = ReplaySettings(source=str(path), lanes=lanes)
    reports = [replay(settings, Progress()).report for _ in range(REPEATS)]
    return min(float(next(iter(report.values()))["seconds"]) for report in reports)


def line(what: str, seconds: float, documents: int, against: float | None = None) -> None:
    """Print one line of results, with the ratio to another result."""
    ratio = f"   {against / seconds:6.2f} x" if against else ""
    rate = f"{seconds / documents * 1e6:8.1f} us/document {documents / seconds:10,.0f} documents/s"
    print(f"  {what:<58}{rate}{ratio}")


def run(documents: int, folder: Path) -> None:
    """Print the comparisons."""
    warm_up(parse_lanes(FOUR_LANES), Tokenizer(), print)
    workload = make_workload(documents)
    short = [shortened(segment, 67) for segment in workload.segments]
    topics = len(workload.topics)
    write_vw(short, folder / "short.vw")
    write_vw(workload.segments, folder / "whole.vw")
    (folder / "events.jsonl").write_bytes(b"\n".join(workload.raw))

    mean = sum(len(segment.rows.terms) for segment in short) / documents
    print(f"One model, ready-made vectors: {topics} topics, {mean:.0f} features per document")
    vw, _ = vw_run(folder / "short.vw", f"--multilabel_oaa {topics}")
    line("Vowpal Wabbit --multilabel_oaa, from its own file", vw, documents)
    for spec in FOUR_LANES:
        line(f"Wirerank {spec}, vectors in memory", lane_seconds(spec, short), documents, vw)

    size = sum(map(len, workload.raw)) / documents
    mean = workload.features_per_document
    print(f"Raw text ({size:.0f} bytes per event, {mean:.0f} features per document), four lanes")
    vw, _ = vw_run(folder / "whole.vw", f"--multilabel_oaa {topics}")
    line("Vowpal Wabbit, one model, ready-made vectors", vw, documents)
    four = replay_seconds(folder / "events.jsonl", FOUR_LANES)
    line("Wirerank replay, raw text, four lanes, all included", four, documents, vw)
    one = replay_seconds(folder / "events.jsonl", FOUR_LANES[:1])
    line("Wirerank replay, raw text, one lane", one, documents, vw)

    print("The stages, run one after the other")
    stages = stage_times(parse_lanes(FOUR_LANES), documents, 1024)
    print("  " + stage_table(stages, documents).replace("\n", "\n  "))
