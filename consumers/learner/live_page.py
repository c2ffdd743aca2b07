"""The live page of a learner process; it stays at its address when the worker is restarted."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.engine.engine import Engine
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.follower import Follower
from pipeline.page.feed import Feed
from pipeline.page.samples import ENDED, STARTING, ReadProgress

INTERRUPTED = "The worker was interrupted. It will continue where it was."


class LearnerPage:
    """Shows the lanes that are foremost in the log; other lanes once they have caught up."""

    def __init__(self, feed: Feed | None = None) -> None:
        self._feed = feed or Feed()  # a feed without a page
        self._engine: Engine | None = None
        self._lanes: list[str] = []
        self._behind: tuple[str, ...] = ()

    def show(self, foremost: Follower, end: int | None, behind: Sequence[Follower]) -> None:
        """Show this follower; the page starts over if the follower or its lanes are others."""
        self._behind = tuple(name for follower in behind for name in follower.names)
        if foremost.engine is not self._engine or foremost.names != self._lanes:
            self._engine, self._lanes = foremost.engine, foremost.names
            self._feed.begin(foremost.engine, self._read_progress(foremost, end))

    def wanted(self, follower: Follower) -> int:
        """How many documents of the next record should be explained."""
        return self._feed.wanted() if follower.engine is self._engine else 0

    def take(self, follower: Follower, ranked: RankedSegment) -> None:
        """Take a segment of a record that was ranked and learned."""
        if follower.engine is self._engine:
            self._feed.take(ranked)

    def advance(self, follower: Follower, end: int | None) -> None:
        """Take note that records are done, and that the log ends at `end`."""
        if follower.engine is self._engine:
            for block in follower.blocks:
                self._feed.advance(block, self._read_progress(follower, end))

    def idle(self, follower: Follower, end: int | None) -> None:
        """Take note that no record arrived."""
        if follower.engine is self._engine:
            self._feed.idle(self._read_progress(follower, end))

    def interrupt(self) -> None:
        """Take note that the worker has ended; it may be restarted."""
        self._feed.end(STARTING, note=INTERRUPTED)
        self._engine = None

    def end(self) -> None:
        """Take note that the whole input was learned."""
        self._feed.end(ENDED)
        self._engine = None

    def _read_progress(self, follower: Follower, end: int | None) -> ReadProgress:
        return ReadProgress(follower.position, end, behind=self._behind)
