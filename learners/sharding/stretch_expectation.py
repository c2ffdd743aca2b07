"""What shards of MMP expect of the next stretch, from what happened in those before."""

from __future__ import annotations

from dataclasses import dataclass

from learners.arrays import Floats
from learners.sharding.certain_leads import COMPLETE, FALL, RISE
from learners.sharding.lessons import Resolved

# Lessons of a stretch. Each lesson is corrected by those before, and the longer a stretch is, the
# more topics are sent. So longer ones take more time than their exchanges save.
SHORTEST, LONGEST = 16, 256
GROWTH, DECAY = 1.1, 0.95
LEAST_RISE, MOST_MOVE = 1e-6, 1e12


@dataclass
class Expectation:
    """How many lessons to try, and how far topics move meanwhile; equal in all shards.

    The reserve of a lesson is `fall` times the length of its inner products with the lessons
    before. A label is expected to rise by `rise` times its inner products with documents that have
    the label. Both grow when they were not enough, and shrink slowly otherwise. With `loss=1`, no
    tau is above 1, so a rise of 1 is always enough.
    """

    stretch: int = LONGEST
    fall: float = 0.0
    rise: float = 1.0

    def update(self, resolved: Resolved, least: Floats, distances: Floats, loss: int) -> None:
        """Take note of how a stretch ended."""
        taken, end = resolved.lessons, resolved.end
        if end == FALL:
            fallen = max(0.0, float(least[taken]) - resolved.needed)
            # Inner products may be too small to divide by.
            needed = fallen / max(float(distances[taken]), fallen / MOST_MOVE, 1e-300)
            self.fall = min(max(GROWTH * self.fall, needed), MOST_MOVE)
        elif end == RISE:
            self.rise = min(self.rise * max(GROWTH, resolved.needed), MOST_MOVE)
        else:
            self.fall *= DECAY
            self.rise = self.rise if loss == 1 else max(DECAY * self.rise, LEAST_RISE)
        if end == COMPLETE:
            longer = max(2 * taken, self.stretch)
        else:
            longer = max(taken + taken // 2, self.stretch // 2)
        self.stretch = max(SHORTEST, min(longer, LONGEST))
