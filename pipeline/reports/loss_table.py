"""The loss table that a run prints while it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pipeline.curves.topic_curve import Point
from pipeline.engine.lane import Lane

SILENCE_SECONDS = 60.0

HEADER = (
    "  average     since      round  relevant  first hit   error    docs",
    "    loss1      last                topics    at rank     set   per s  lane",
)
RANK_HEADER = (
    "  average     since      round  true rank  predicted    off    docs",
    "     loss      last                                           per s  lane",
)


class LossTable:
    """Prints a line per lane at rounds 1, 2, 4, 8, ...: average loss, recent loss, last round.

    Between two of these rounds it prints a line per minute.
    """

    def __init__(self, lanes: Sequence[Lane], print_line: Callable[[str], None]) -> None:
        self._lanes = lanes
        self._print = print_line
        # The number of points of each lane's curve that were read. Those of a model that the run
        # resumed are not printed again.
        self._read = [lane.curve.kept for lane in lanes]
        self._last: list[Point | None] = [
            lane.curve.last() if lane.curve.rounds else None for lane in lanes
        ]
        self._has_header = False
        self._last_print = time.monotonic()

    def update(self, documents_per_second: float) -> None:
        """Print the lines that are due since the last update, in order of rounds."""
        lines: list[tuple[int, int, Point]] = []
        for number, lane in enumerate(self._lanes):
            for point in lane.curve.points(self._read[number]):
                self._read[number] += 1
                if point.round & (point.round - 1) == 0:
                    lines.append((point.round, number, point))
        for _, number, point in sorted(lines, key=lambda line: line[:2]):
            self._print_line(number, point, documents_per_second)
        if time.monotonic() - self._last_print > SILENCE_SECONDS:
            self._print_last_rounds(documents_per_second)

    def finish(self, documents_per_second: float) -> None:
        """Print the last round of every lane."""
        self.update(documents_per_second)
        self._print_last_rounds(documents_per_second)

    def _print_last_rounds(self, documents_per_second: float) -> None:
        for number, lane in enumerate(self._lanes):
            last = self._last[number]
            if lane.curve.rounds and (last is None or last.round < lane.curve.rounds):
                self._print_line(number, lane.curve.last(), documents_per_second)

    def _print_line(self, number: int, point: Point, documents_per_second: float) -> None:
        if not self._has_header:
            self._has_header = True
            kinds = {lane.is_ordinal for lane in self._lanes}
            for ordinal in sorted(kinds):
                upper, lower = RANK_HEADER if ordinal else HEADER
                of = "" if len(kinds) == 1 else " of ranks" if ordinal else " of topics"
                self._print(upper)
                self._print(lower + of)
        loss = self._lanes[number].curve.compared[0]
        average, last = point.values[loss] or 0.0, self._last[number]
        since = average
        if last is not None:
            before = (last.values[loss] or 0.0) * last.round
            since = (average * point.round - before) / (point.round - last.round)
        first_hit = "n.a." if point.first_hit is None else f"{point.first_hit:,}"
        self._print(
            f"{average:9.6f} {since:9.6f} {point.round:10,} {point.relevant:9,} {first_hit:>10} "
            f"{point.wrong_pairs:7,} {documents_per_second:7,.0f}  {self._lanes[number].name}"
        )
        self._last[number] = point
        self._last_print = time.monotonic()
