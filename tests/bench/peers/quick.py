"""The short form for every change: a few ratios, which may not fall by a third.

Wirerank and its peers run by turns on the same documents, so that a slow minute of the machine hits
both. Other work on the machine can only make a run slower, so the best time of each program is
taken. A ratio that seems to have fallen is measured once more, with more turns, before it counts.

Ratios differ between kinds of processors, so they are recorded for each kind. Where none are, they
are only shown.

Beside Vowpal Wabbit it is a ratio of processor times. Beside the loop of kafka-python that does
nothing it is one of wall times, because waiting for the broker counts there.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.peers.comparison import KafkaRuns, broker
from tests.bench.peers.corpus import Corpus
from tests.bench.peers.programs_list import BARE_LOOP, OAA, ON_KAFKA, PLT, SOFT_AROW
from tests.bench.peers.runner import Program, Result, run_program

RECORDED = Path(__file__).with_name("recorded.json")
FALL = 2 / 3  # of the recorded ratio: below this the check fails
TURNS = 5
LIMIT_S = 60.0
CORPUS = Corpus(100, 4_000)
ON_KAFKA_CORPUS = Corpus(100, 20_000)

Run = Callable[[Program, Corpus], Result]


class Pair(NamedTuple):
    """What is compared: the time of the other program divided by that of Wirerank."""

    name: str
    ours: Program
    other: Program
    corpus: Corpus
    time: Callable[[Result], float]


FROM_FILES = (
    Pair("Vowpal Wabbit --multilabel_oaa", SOFT_AROW, OAA, CORPUS, lambda r: r.processor),
    Pair("Vowpal Wabbit --plt", SOFT_AROW, PLT, CORPUS, lambda r: r.processor),
)
ON_BROKER = (Pair("kafka-python alone", ON_KAFKA, BARE_LOOP, ON_KAFKA_CORPUS, lambda r: r.seconds),)


class Times(NamedTuple):
    """The times of a pair, one per turn."""

    ours: list[float]
    other: list[float]

    @property
    def ratio(self) -> float:
        """The best time of the other program / the best time of Wirerank."""
        return min(self.other) / min(self.ours)


def one_time(program: Program, pair: Pair, run: Run) -> float:
    """The time of one run, which must be complete."""
    result = run(program, pair.corpus)
    if result.failure or result.documents != pair.corpus.documents:
        raise SystemExit(f"{program.name}: {result.failure or 'was too slow to finish'}")
    return pair.time(result)


def measure(pairs: Sequence[Pair], run: Run, recorded: Mapping[str, float]) -> dict[str, float]:
    """The ratio of each pair. What is below the recorded one by a third is measured for longer."""
    times = {pair.name: Times([], []) for pair in pairs}
    for pair in pairs:  # compiled, cached, and the broker has seen a client
        run(pair.ours, pair.corpus)
    again = list(pairs)
    for _ in range(2):
        for _ in range(TURNS):
            for pair in again:
                times[pair.name].ours.append(one_time(pair.ours, pair, run))
                times[pair.name].other.append(one_time(pair.other, pair, run))
        ratios = {name: taken.ratio for name, taken in times.items()}
        again = [pair for pair in pairs if pair.name in fallen(ratios, recorded)]
        if not again or not recorded:
            break
    for name, (ours, other) in times.items():
        print(f"  {name}: {seconds(other)} s; Wirerank: {seconds(ours)} s", flush=True)
    return ratios


def seconds(times: Sequence[float]) -> str:
    """Times as text."""
    return " ".join(f"{taken:.2f}" for taken in times)


def fallen(measured: Mapping[str, float], recorded: Mapping[str, float]) -> list[str]:
    """The names of the ratios that fell by a third or more, or that were never recorded."""
    return [
        name
        for name, value in measured.items()
        if name not in recorded or value <= FALL * recorded[name]
    ]


def run(record: bool) -> int:
    """Measure, print and compare; returns the exit code."""
    kind, known = platform.machine(), json.loads(RECORDED.read_text())
    recorded = {} if record else known.get(kind, {})
    print(f"Time of other programs / time of Wirerank, the best of {TURNS} turns", flush=True)
    measured = measure(FROM_FILES, lambda p, c: run_program(p, c, LIMIT_S), recorded)
    with broker() as bootstrap:
        runs = KafkaRuns(bootstrap, LIMIT_S)
        runs.warm_up(ON_KAFKA_CORPUS)
        measured |= measure(ON_BROKER, runs.run, recorded)
    if record:
        recorded = {name: round(value, 2) for name, value in measured.items()}
        RECORDED.write_text(json.dumps(known | {kind: recorded}, indent=2) + "\n")
    if not recorded:
        print(f"  Nothing is recorded for processors of the kind {kind}: see --record.")
    slower = fallen(measured, recorded) if recorded else []
    for name, value in measured.items():
        verdict = "FELL BY A THIRD OR MORE" if name in slower else "ok"
        print(f"  {name:<34}{value:6.2f}   recorded {recorded.get(name, 0):6.2f}   {verdict}")
    return 1 if slower else 0
