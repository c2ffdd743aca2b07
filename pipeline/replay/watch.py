"""The interface through which a run reports its progress to whoever follows it."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.engine.engine import RankedSegment
from pipeline.log.block import Block


class Watch:
    """Somebody who follows a run: told of settings, lines of the loss table, and progress."""

    def say(self, line: str) -> None:
        """A line of narration."""

    def begin(self, total: int | None) -> None:
        """The run begins; so many events are expected, if that is known."""

    def advance(self, events: int) -> None:
        """So many events were read so far."""

    def followed(self, block: Block, ranked: Sequence[RankedSegment]) -> None:
        """A block was ranked and learned."""

    def end(self) -> None:
        """The run is over."""
