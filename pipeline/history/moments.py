"""The curves of a run on the time axis of its corpus: the losses at certain moments.

There are two kinds of moments. Each point of the curves is a moment, at the time of its document;
the first rounds of a stream need these. Regular moments come at fixed intervals; quiet periods need
these. The interval grows with the length of the stream, so that there are at most `MOST_REGULAR`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Longs
from learners.measures import MEASURES, ONE_ERROR
from pipeline.curves.topic_curve import is_kept
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.errors import UsageError
from pipeline.history.corpus_time import CorpusClock, as_text
from pipeline.log.block import Block

MINUTE, HOUR, DAY = 60, 3600, 86_400
# Each interval is a multiple of the one before, so that moments can be thinned out later.
STEPS_S = (
    1, 5, 15, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
    DAY, 7 * DAY, 28 * DAY, 364 * DAY,
)  # fmt: skip
MOST_REGULAR = 500
MOST_ASKED_FOR = 20_000
SHOWN_FOR_S = 5 * MINUTE  # how long Prometheus shows a value by default


class Moment(NamedTuple):
    """The number of rounds up to a time, and the sums of their measures per lane."""

    rounds: int
    with_topics: int  # rounds whose document had at least one topic
    sums: Floats  # lanes x measures

    def average(self, lane: int, measure: int) -> float | None:
        """Return the average of a measure so far; None if it does not exist yet."""
        over = self.rounds if MEASURES[measure].startswith("loss") else self.with_topics
        return float(self.sums[lane, measure]) / over if over else None


class History:
    """Follows a run, and keeps its moments."""

    def __init__(self, lanes: Sequence[str], step_s: int | None = None) -> None:
        self.lanes = lanes
        self.clock = CorpusClock()
        self.step_s = step_s or STEPS_S[0]
        self._asked_for = step_s is not None
        self._last = Moment(0, 0, np.zeros((len(lanes), len(MEASURES))))
        self._last_ms = -1  # the time of `_last`; -1: before the first time
        self._points: dict[int, Moment] = {}  # by time in ms
        self._regular: dict[
            int, Moment
        ] = {}  # by time in steps; a missing step equals the one before

    def follow(self, block: Block, ranked: Sequence[RankedSegment]) -> None:
        """Add the rounds that an engine learned from a block."""
        times = self._times(block, ranked)
        if len(times):
            self._take(times, np.concatenate([np.stack(piece.measures, 1) for piece in ranked]))
        self._thin_out()

    def _times(self, block: Block, ranked: Sequence[RankedSegment]) -> Longs:
        """Return the time of each round: the clock when its labels came; -1: no time yet."""
        times = []
        labelled = chain.from_iterable(piece.labelled for piece in ranked)
        awaited = next(labelled, None)
        for entry in block.entries:
            self.clock.see(entry)
            if entry is awaited:
                times.append(-1 if self.clock.now_ms is None else self.clock.now_ms)
                awaited = next(labelled, None)
        return np.array(times, np.int64)

    def _take(self, times: Longs, measured: Floats) -> None:
        """Add rounds with their times and measures per lane; NaN: the measure does not exist."""
        before = self._last.rounds
        # In the same order as the curve adds them, so that the sums are equal to the last bit.
        sums = np.concatenate([self._last.sums[None], np.nan_to_num(measured)]).cumsum(axis=0)[1:]
        exists = ~np.isnan(measured[:, 0, ONE_ERROR])
        with_topics = self._last.with_topics + np.cumsum(exists)

        def moment(i: int) -> Moment:
            return Moment(before + i + 1, int(with_topics[i]), sums[i].copy())

        self._last, self._last_ms = moment(len(times) - 1), int(times[-1])
        steps = -(-times // (1000 * self.step_s))  # the first regular moment not before the round
        last_of_step = np.append(np.diff(steps) > 0, True)
        for i in range(int(np.searchsorted(times, 0)), len(times)):
            if last_of_step[i]:
                self._regular[int(steps[i])] = moment(i)
            if is_kept(before + i + 1):
                self._points[int(times[i])] = moment(i)

    def _thin_out(self) -> None:
        """Use larger steps while there are too many moments."""
        while len(self._span()) > (MOST_ASKED_FOR if self._asked_for else MOST_REGULAR):
            if self._asked_for:
                raise UsageError(
                    f"--step {self.step_s} gives more than {MOST_ASKED_FOR:,} points by "
                    f"{as_text(self.clock.now_ms or 0)}; choose a larger --step."
                )
            if self.step_s == STEPS_S[-1]:
                return
            larger = STEPS_S[STEPS_S.index(self.step_s) + 1]
            factor = larger // self.step_s
            self._regular = {-(-step // factor): m for step, m in self._regular.items()}
            self.step_s = larger

    def _span(self) -> range:
        """Return the times of the regular moments, in steps."""
        if self.clock.first_ms is None or self.clock.now_ms is None:
            return range(0)
        step_ms = 1000 * self.step_s
        return range(-(-self.clock.first_ms // step_ms), self.clock.now_ms // step_ms + 1)

    def moments(self) -> list[tuple[int, Moment]]:
        """Return all moments by time in milliseconds; the later one of two at the same time."""
        if self.clock.now_ms is None or not self._last.rounds:
            return []
        moments = [*self._points.items(), (self.clock.now_ms, self._last)]
        if self._last_ms >= 0:
            moments.append((self._last_ms, self._last))
        moment: Moment | None = None
        for step in self._span():
            moment = self._regular.get(step, moment)
            if moment is not None:
                moments.append((1000 * self.step_s * step, moment))
        moments.sort(key=lambda pair: (pair[0], pair[1].rounds))
        return list(dict(moments).items())

    def extent(self) -> Iterator[str]:
        """Yield lines on the period that the moments cover, and on their interval."""
        moments = self.moments()
        if not moments:
            return
        first, last = as_text(moments[0][0]), as_text(moments[-1][0])
        every = duration(self.step_s)
        yield (
            f"{len(moments):,} moments from {first} to {last}: one every {every}, and one for each "
            "point of the curves"
        )
        if self.step_s > SHOWN_FOR_S:
            yield f"to see lines, start Prometheus with --query.lookback-delta={every}"

    def notes(self) -> Iterator[str]:
        """Yield notes on documents whose time was missing or could not be used."""
        clock = self.clock
        if clock.undated:
            yield (
                "documents without a time, placed at the time of the document before: "
                f"{clock.undated:,}"
            )
        if clock.before_1970:
            yield (
                f"documents dated before 1970, where the time axis of Prometheus begins, treated "
                f"as without a time: {clock.before_1970:,}"
            )
        if clock.late:
            yield (
                f"documents dated before an earlier document, placed at its time: {clock.late:,}; "
                f"the oldest is {clock.latest!r}, by {clock.latest_by_ms / 3.6e6:,.1f} hours"
            )


def duration(seconds: int) -> str:
    """Return a duration as Prometheus writes it, in its largest whole unit.

    Examples
    --------
    >>> duration(43_200), duration(90), duration(604_800)
    ('12h', '90s', '7d')

    """
    for unit, size in (("d", DAY), ("h", HOUR), ("m", MINUTE)):
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
