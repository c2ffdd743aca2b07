"""Which lanes are better than which, in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import combinations

from pipeline.curves.confidence import CONFIDENCE, LOSSES, LossDifference
from pipeline.curves.rank_curve import RankCurve
from pipeline.reports.report import RANK_COLUMNS, TOPIC_COLUMNS, Report

WIDTH = 80
MOST_LINES = 24  # of decided pairs; four lanes have half as many
COLUMN_FORMATS = {
    key: (title, scale, digits) for title, key, scale, digits in (*TOPIC_COLUMNS, *RANK_COLUMNS)
}


def comparison_lines(report: Report) -> Iterator[str]:
    """A line for every two lanes of which one is better, and what is open; of one lane nothing."""
    decided: list[str] = []
    undecided: dict[str, list[str]] = {}
    for loss in (*LOSSES, *RankCurve.compared):
        mine = [name for name in report if loss in report[name]]
        best_first = sorted(mine, key=lambda name: report[name][loss] or 0.0)
        for one, other in combinations(best_first, 2):
            found = report[one]["against"][other][loss]
            if found["better"]:
                better, worse = (one, other) if found["better"] == one else (other, one)
                decided.append(decided_line(report, loss, better, worse))
            elif found["rounds"]:
                undecided.setdefault(loss, []).append(f"{one} / {other}")
    if decided:
        yield f"{100 * CONFIDENCE:.0f} % sure of all these lines at once, however often you look:"
        yield from decided[:MOST_LINES]
    if len(decided) > MOST_LINES:
        yield f"and {len(decided) - MOST_LINES} lines more; --report writes them all"
    every = len(report) * (len(report) - 1) // 2
    for loss, pairs in undecided.items():
        shown = "all pairs" if 1 < len(pairs) == every else ", ".join(pairs)
        yield from wrapped(f"undecided in {loss}: {shown}")


def decided_line(report: Report, loss: str, better: str, worse: str) -> str:
    """By how much one lane is better than another, in the units of the table of lanes."""
    found = report[better]["against"][worse][loss]
    known = LossDifference(found["rounds"], found["difference"], found["low"], found["high"])
    title, *_ = COLUMN_FORMATS[loss]
    return f"{better} is better than {worse} in {title}: {format_difference(loss, known)}"


def format_difference(loss: str, found: LossDifference) -> str:
    """A difference and its interval, in the units of the table of lanes."""
    _, scale, digits = COLUMN_FORMATS[loss]
    numbers = (found.mean, found.low, found.high)
    mean, low, high = ("n.a." if n is None else f"{scale * n:z.{digits}f}" for n in numbers)
    return f"{mean} ({low} to {high})"


def wrapped(line: str) -> Iterator[str]:
    """A line in as many as it takes; pairs stay together."""
    bound = line.replace(" / ", "\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}")
    for part in textwrap.wrap(bound, WIDTH, break_long_words=False, break_on_hyphens=False):
        yield part.replace("\N{NO-BREAK SPACE}", " ")
