"""The interface through which a run reports its progress."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.engine.ranked_segment import RankedSegment
from pipeline.log.block import Block


class Progress:
    """Receives the progress of a run; this base class ignores it."""

    def say(self, line: str) -> None:
        """Show a line of text, such as a setting or a row of the loss table."""

    def warn(self, line: str) -> None:
        """Show a line about a problem, also to a user who wants to see no progress."""

    def begin(self, total: int | None) -> None:
        """Note that the run begins; `total` is the expected number of events, if known."""

    def advance(self, events: int) -> None:
        """Note how many events have been read so far."""

    def block_learned(self, block: Block, segments: Sequence[RankedSegment]) -> None:
        """Note that a block has been ranked and learned; `segments` are its rankings."""

    def end(self) -> None:
        """Note that the run is over."""
