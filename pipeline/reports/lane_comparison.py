"""Sentences about which lanes are better than which."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import combinations

from pipeline.curves.confidence import CONFIDENCE, LOSSES, LossDifference
from pipeline.curves.rank_curve import RankCurve
from pipeline.reports.report import RANK_COLUMNS, TOPIC_COLUMNS, Report

WIDTH = 80
MOST_LINES = 24  # of decided pairs; four lanes have 12 at most
COLUMN_FORMATS = {
    key: (title, scale, digits) for title, key, scale, digits in (*TOPIC_COLUMNS, *RANK_COLUMNS)
}


def comparison_lines(report: Report) -> Iterator[str]:
    """Yield a line per pair of lanes of which one is better, then the undecided pairs."""
    decided: list[str] = []
    undecided: dict[str, list[str]] = {}
    for loss in (*LOSSES, *RankCurve.compared):
        names = [name for name in report if loss in report[name]]
        best_first = sorted(names, key=lambda name: report[name][loss] or 0.0)
        for one, other in combinations(best_first, 2):
            difference = report[one]["against"][other][loss]
            if difference["better"]:
                better, worse = (one, other) if difference["better"] == one else (other, one)
                decided.append(decided_line(report, loss, better, worse))
            elif difference["rounds"]:
                undecided.setdefault(loss, []).append(f"{one} / {other}")
    if decided:
        percent = f"{100 * CONFIDENCE:.0f} %"
        yield f"{percent} confidence for all lines below together, however often you look:"
        yield from decided[:MOST_LINES]
    if len(decided) > MOST_LINES:
        yield f"and {len(decided) - MOST_LINES} more lines; --report writes all of them"
    every = len(report) * (len(report) - 1) // 2
    for loss, pairs in undecided.items():
        shown = "all pairs" if 1 < len(pairs) == every else ", ".join(pairs)
        yield from wrapped(f"undecided in {loss}: {shown}")


def decided_line(report: Report, loss: str, better: str, worse: str) -> str:
    """Return a line that says by how much a lane is better, in the units of the lane table."""
    entry = report[better]["against"][worse][loss]
    difference = LossDifference(entry["rounds"], entry["difference"], entry["low"], entry["high"])
    title, *_ = COLUMN_FORMATS[loss]
    return f"{better} is better than {worse} in {title}: {format_difference(loss, difference)}"


def format_difference(loss: str, difference: LossDifference) -> str:
    """Return a difference and its interval, in the units of the lane table."""
    _, scale, digits = COLUMN_FORMATS[loss]
    numbers = (difference.mean, difference.low, difference.high)
    mean, low, high = ("n.a." if n is None else f"{scale * n:z.{digits}f}" for n in numbers)
    return f"{mean} ({low} to {high})"


def wrapped(line: str) -> Iterator[str]:
    """Wrap a line at `WIDTH`; the two names of a pair stay together."""
    bound = line.replace(" / ", "\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}")
    for part in textwrap.wrap(bound, WIDTH, break_long_words=False, break_on_hyphens=False):
        yield part.replace("\N{NO-BREAK SPACE}", " ")
