"""Ranking with a model, as ratios to replays of the same documents in the same run.

Both read the same file and write rankings. They take turns, and the best of each counts. Processor
time is that of all threads and processes, with loading the model. Time by the clock is without it,
and depends on how many cores are free.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from learners.cores import usable_cores
from pipeline.corpora.synthetic_newswire import SyntheticNewswire
from pipeline.ranking.rank import RankSettings, rank
from pipeline.replay.progress import Progress
from pipeline.replay.replay import replay
from pipeline.replay.settings import ReplaySettings
from tests.bench.workload import FOUR_LANES

TURNS = 5
LANES = {"one lane": ("mmp:loss=1",), "four lanes": FOUR_LANES}


class Times(NamedTuple):
    """Microseconds per document."""

    processor: float
    clock: float


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    usages = [resource.getrusage(kind) for kind in kinds]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def timed(run: Callable[[], float], documents: int) -> Times:
    """Return the times of a run, which returns its own seconds by the clock."""
    began = processor_seconds()
    seconds = run()
    return Times(1e6 * (processor_seconds() - began) / documents, 1e6 * seconds / documents)


def measure(folder: Path, lanes: tuple[str, ...], documents: int) -> dict[str, Times]:
    """Return the best times of a replay, and of ranking in one process and in all."""
    source, model, dead = folder / "ranked.jsonl", folder / "ranked.model", folder / "dead.jsonl"
    source.write_bytes(b"\n".join(SyntheticNewswire(documents=documents)))
    output = Path(os.devnull)
    learning = ReplaySettings(str(source), lanes, rankings=output, dead_letters=dead, save=model)
    one = RankSettings(model, str(source), rankings=output, dead_letters=dead, processes=1)
    every = RankSettings(model, str(source), rankings=output, dead_letters=dead)
    runs: dict[str, Callable[[], float]] = {
        "replay": lambda: float(
            next(iter(replay(learning, Progress()).report.values()))["seconds"]
        ),
        "rank, 1 process": lambda: rank(one, Progress()).seconds,
        f"rank, {usable_cores()} processes": lambda: rank(every, Progress()).seconds,
    }
    best: dict[str, Times] = {}
    for turn in range(TURNS + 1):
        for name, run_once in runs.items():
            times = timed(run_once, documents)
            if turn:  # the first turn warms up
                best[name] = Times(*map(min, times, best.get(name, times)))
    return best


def run(documents: int, folder: Path) -> None:
    """Print a table."""
    print(f"\nranking {documents:,} documents with a model (best of {TURNS} turns)")
    print(f"{'':34}processor us   times replay   clock us   times replay")
    for name, lanes in LANES.items():
        best = measure(folder, lanes, documents)
        base = best["replay"]
        for way, times in best.items():
            print(
                f"  {name:<12}{way:<20}{times.processor:12.1f}"
                f"{times.processor / base.processor:15.2f}{times.clock:11.1f}"
                f"{times.clock / base.clock:15.2f}"
            )
