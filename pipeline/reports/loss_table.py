"""What a person reads while a run goes on: the settings in force, the loss table, the rate."""

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
HEADER_OF_RANKS = (
    "  average     since      round  true rank  said rank    off    docs",
    "     loss      last                                           per s  lane",
)


class LossTable:
    """A line per lane at rounds 1, 2, 4, 8, ..: the long run, the recent stretch, one example.

    When doublings become rare, a line comes every minute in between.
    """

    def __init__(self, lanes: Sequence[Lane], say: Callable[[str], None]) -> None:
        self._lanes = lanes
        self._say = say
        self._read = [0] * len(lanes)  # points of each lane's curve that were looked at
        self._last: list[Point | None] = [None] * len(lanes)
        self._begun = False
        self._said = time.monotonic()

    def update(self, documents_per_second: float) -> None:
        """Say what was reached since the last update, round by round."""
        lines: list[tuple[int, int, Point]] = []
        for number, lane in enumerate(self._lanes):
            for point in lane.curve.points(self._read[number]):
                self._read[number] += 1
                if point.round & (point.round - 1) == 0:
                    lines.append((point.round, number, point))
        for _, number, point in sorted(lines, key=lambda line: line[:2]):
            self._line(number, point, documents_per_second)
        if time.monotonic() - self._said > SILENCE_SECONDS:
            self._where_it_stands(documents_per_second)

    def finish(self, documents_per_second: float) -> None:
        """Say where every lane ended."""
        self.update(documents_per_second)
        self._where_it_stands(documents_per_second)

    def _where_it_stands(self, documents_per_second: float) -> None:
        for number, lane in enumerate(self._lanes):
            last = self._last[number]
            if lane.curve.rounds and (last is None or last.round < lane.curve.rounds):
                self._line(number, lane.curve.last(), documents_per_second)

    def _line(self, number: int, point: Point, documents_per_second: float) -> None:
        if not self._begun:
            self._begun = True
            kinds = {lane.is_ordinal for lane in self._lanes}
            for ordinal in sorted(kinds):
                upper, lower = HEADER_OF_RANKS if ordinal else HEADER
                of = "" if len(kinds) == 1 else " of ranks" if ordinal else " of topics"
                self._say(upper)
                self._say(lower + of)
        loss = self._lanes[number].curve.compared[0]
        average, last = point.values[loss] or 0.0, self._last[number]
        since = average
        if last is not None:
            before = (last.values[loss] or 0.0) * last.round
            since = (average * point.round - before) / (point.round - last.round)
        first_hit = "n.a." if point.first_hit is None else f"{point.first_hit:,}"
        self._say(
            f"{average:9.6f} {since:9.6f} {point.round:10,} {point.relevant:9,} {first_hit:>10} "
            f"{point.wrong_pairs:7,} {documents_per_second:7,.0f}  {self._lanes[number].name}"
        )
        self._last[number] = point
        self._said = time.monotonic()
