"""The live page of a learner: one address a process, fed by workers that come and go."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.engine.engine import Engine
from pipeline.engine.ranked_segment import RankedSegment
from pipeline.follower import Follower
from pipeline.page.feed import Feed
from pipeline.page.samples import STARTING, ReadProgress

STARTS_AGAIN = "The worker was interrupted; it takes up where it was as soon as it can."


class LearnerPage:
    """Shows the lanes that are foremost in the log; others once they have joined them."""

    def __init__(self, feed: Feed | None = None) -> None:
        self._feed = feed or Feed()  # which nobody looks at
        self._engine: Engine | None = None
        self._lanes: list[str] = []
        self._behind: tuple[str, ...] = ()

    def show(self, foremost: Follower, end: int | None, behind: Sequence[Follower]) -> None:
        """Show this follower from now on; anew if it is another one, or lanes have joined it."""
        self._behind = tuple(name for follower in behind for name in follower.names)
        if foremost.engine is not self._engine or foremost.names != self._lanes:
            self._engine, self._lanes = foremost.engine, foremost.names
            self._feed.begin(foremost.engine, self._standing(foremost, end))

    def wanted(self, follower: Follower) -> int:
        """How many documents of its next record are to be explained."""
        return self._feed.wanted() if follower.engine is self._engine else 0

    def take(self, follower: Follower, ranked: RankedSegment) -> None:
        """A piece of a record was ranked and learned."""
        if follower.engine is self._engine:
            self._feed.take(ranked)

    def advance(self, follower: Follower, end: int | None) -> None:
        """A record is done, and the log ends there."""
        if follower.engine is self._engine and follower.block is not None:
            self._feed.advance(follower.block, self._standing(follower, end))

    def idle(self, follower: Follower, end: int | None) -> None:
        """No record came."""
        if follower.engine is self._engine:
            self._feed.idle(self._standing(follower, end))

    def interrupt(self) -> None:
        """The worker ends; there may be another one."""
        self._feed.end(STARTING, note=STARTS_AGAIN)
        self._engine = None

    def _standing(self, follower: Follower, end: int | None) -> ReadProgress:
        return ReadProgress(follower.position, end, behind=self._behind)
