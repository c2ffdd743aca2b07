"""Which of a stream's learners a worker is: that of all lanes, of one lane, or a shard of one."""

from __future__ import annotations

from dataclasses import dataclass

from consumers.config import StreamSettings
from pipeline.commands.outcome import fail


@dataclass(frozen=True, slots=True)
class Share:
    """Which shard of a lane a worker is."""

    lane: str
    shard: int
    shards: int

    @property
    def speaks(self) -> bool:
        """Whether this shard publishes, and shows the curve: all have found the same."""
        return self.shard == 0


def share_of(stream: StreamSettings, lane: str | None, shard: str | None) -> Share | None:
    """Which shard of which lane is meant, if any; ends if there is none such."""
    lanes = {known.parsed.name: known for known in stream.lanes}
    if lane is None:
        if shard is not None:
            fail("--shard needs --lane: which lane is it a shard of?")
        if not stream.whole_lanes:
            fail("every lane of this stream has shards: name one, as --lane NAME --shard 0/2")
        return None
    if lane not in lanes:
        fail(f"--lane must be one of {', '.join(lanes)}. Got {lane!r}.")
    shards = lanes[lane].shards
    if shard is None and shards == 1:
        return None
    possible = [f"{number}/{shards}" for number in range(shards)]
    if shard not in possible:
        say = f"has shards = {shards}, so --shard must be one of {', '.join(possible)}"
        fail(
            f"lane {lane!r} {say if shards > 1 else 'is whole: leave out --shard'}. Got {shard!r}."
        )
    return Share(lane, possible.index(shard), shards)


def instance_of(stream: StreamSettings, lane: str | None, share: Share | None) -> int:
    """Which of a stream's learners this is: the one of all lanes, of one lane, or of a shard."""
    if lane is None:
        return 0
    names = [known.parsed.name for known in stream.lanes]
    if share is None:
        return 1 + names.index(lane)
    before = stream.lanes[: names.index(lane)]
    return 1 + len(names) + sum(known.shards for known in before) + share.shard
