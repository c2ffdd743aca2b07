"""The curves of a run on the time axis of its corpus: the losses at certain moments.

There are two kinds of moments. Each point of the curves is a moment, at the time of its document;
the first rounds of a stream need these. Regular moments come at fixed intervals; quiet periods need
these. The interval grows with the length of the stream, so that there are at most `MOST_REGULAR`.

A point is the state right after its round. A regular moment is the state after all events up to its
time, so its documents include those that came after the last round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Longs
from learners.measures import MEASURES, ONE_ERROR
from learners.specs import LaneSpec
from pipeline.curves.topic_curve import is_kept
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.errors import UsageError
from pipeline.history.corpus_time import CorpusClock, as_text
from pipeline.history.decision_states import DecisionFollower, LaneStates
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
    """The number of rounds up to a time, the sums of their measures, and the state of decisions."""

    rounds: int
    with_topics: int  # rounds whose document had at least one topic
    sums: Floats  # lanes x measures
    decisions: LaneStates

    def average(self, lane: int, measure: int) -> float | None:
        """Return the average of a measure so far; None if it does not exist yet."""
        over = self.rounds if MEASURES[measure].startswith("loss") else self.with_topics
        return float(self.sums[lane, measure]) / over if over else None


class Entries(NamedTuple):
    """The entries of a block, one element per entry."""

    times: Longs  # what the clock shows, in ms; -1: no time yet
    rounds: Longs  # rounds of the block up to this entry: labels count when they come
    steps: Longs  # steps of the block's segments up to this entry


class History:
    """Follows a run, and keeps its moments."""

    def __init__(self, lanes: Sequence[LaneSpec], step_s: int | None = None) -> None:
        self.lanes = [lane.name for lane in lanes]
        self.clock = CorpusClock()
        self.step_s = step_s or STEPS_S[0]
        self._asked_for = step_s is not None
        self._decisions = DecisionFollower(lanes)
        self._last = Moment(0, 0, np.zeros((len(lanes), len(MEASURES))), ())
        self._last_round: tuple[int, Moment] | None = None  # with its time, if it has one
        self._points: dict[int, Moment] = {}  # by time in ms
        self._regular: dict[
            int, Moment
        ] = {}  # by time in steps; a missing step equals the one before

    def follow(self, block: Block, ranked: Sequence[RankedSegment]) -> None:
        """Add the documents and rounds that an engine ranked and learned from a block."""
        entries = self._entries(block, ranked)
        self._thin_out()
        if block.entries:
            self._take(entries, ranked)

    def _entries(self, block: Block, ranked: Sequence[RankedSegment]) -> Entries:
        """Set the clock by each entry, and count its steps: a ranking, a round, both or none."""
        counted = np.zeros((3, len(block.entries)), np.int64)
        labelled = chain.from_iterable(piece.labelled for piece in ranked)
        awaited = next(labelled, None)
        rounds = steps = 0
        for i, entry in enumerate(block.entries):
            self.clock.see(entry)
            steps += entry.row is not None
            if entry is awaited:
                rounds, steps = rounds + 1, steps + 1
                awaited = next(labelled, None)
            counted[:, i] = -1 if self.clock.now_ms is None else self.clock.now_ms, rounds, steps
        return Entries(*counted)

    def _take(self, entries: Entries, ranked: Sequence[RankedSegment]) -> None:
        """Add the moments among the entries of a block, which learned these segments."""
        measured = [np.stack(piece.measures, 1) for piece in ranked]  # NaN: it does not exist
        before = self._last
        # In the same order as the curve adds them, so that the sums are equal to the last bit.
        sums = np.concatenate([before.sums[None], *map(np.nan_to_num, measured)]).cumsum(axis=0)
        exist = [np.zeros(1, np.bool_), *(~np.isnan(some[:, 0, ONE_ERROR]) for some in measured)]
        with_topics = before.with_topics + np.cumsum(np.concatenate(exist))

        times, rounds = entries.times, before.rounds + entries.rounds
        is_round = np.diff(entries.rounds, prepend=0) > 0
        is_point = is_round & np.array([is_kept(round_) for round_ in rounds.tolist()])
        regular = -(-times // (1000 * self.step_s))  # the first regular moment not before the entry
        is_regular = np.append(np.diff(regular) > 0, True)  # the last entry before that moment
        is_last_round = is_round & (entries.rounds == entries.rounds[-1])
        chosen = np.flatnonzero(is_point | is_regular | is_last_round)
        states = self._decisions.follow(ranked, entries.steps[chosen])
        for i, decisions in zip(chosen.tolist(), states, strict=True):
            learned, time = int(entries.rounds[i]), int(times[i])
            moment = Moment(
                int(rounds[i]), int(with_topics[learned]), sums[learned].copy(), decisions
            )
            self._last = moment  # the last entry is always among the chosen ones
            if time < 0 or not moment.rounds:
                continue
            if is_regular[i]:
                self._regular[int(regular[i])] = moment
            if is_point[i]:
                self._points[time] = moment
            if is_last_round[i]:
                self._last_round = time, moment

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
        moments = list(self._points.items())
        if self._last_round is not None:
            moments.append(self._last_round)
        moments.append((self.clock.now_ms, self._last))
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
