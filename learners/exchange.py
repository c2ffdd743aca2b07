"""How the shards of a lane give each other their scores."""

from __future__ import annotations

from typing import Protocol


class Exchange(Protocol):
    """The other shards of a lane, as a shard sees them.

    Exchanges are numbered 0, 1, 2, ... without gaps. A number always means the same stretch of the
    log, and the same bytes of each shard, also after a restart.
    """

    shard: int  # which shard this is, from 0
    shards: int  # how many there are

    def swap(self, number: int, mine: bytes) -> list[bytes]:
        """Give this shard's part of the exchange `number`, and wait for the parts of all.

        They come in the order of the shards, this one's among them.
        """
