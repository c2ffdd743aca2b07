"""How the shards of a learner give each other what each has computed."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier
from typing import ParamSpec, Protocol

P = ParamSpec("P")


class DisagreementError(Exception):
    """The shards of a lane do not compute the same; the message says where."""


class Exchange(Protocol):
    """One shard's end of an exchange. Exchanges are numbered from 0, without gaps."""

    shard: int  # which shard this is, from 0
    shards: int  # how many there are

    def swap(self, number: int, mine: bytes) -> list[bytes]:
        """Give this shard's part of the exchange `number`, and wait for the parts of all.

        They come in the order of the shards.
        """


class Meeting:
    """Where shards that are threads of one process exchange."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._all_here = Barrier(shards)
        # Nobody is more than one exchange ahead, so two places each are enough.
        self._parts = [[b""] * shards, [b""] * shards]

    def end(self, shard: int) -> Exchange:
        """The end of one shard."""
        return _End(self, shard, self._shards)

    def swap(self, shard: int, number: int, mine: bytes) -> list[bytes]:
        """Leave a part and wait for the others."""
        parts = self._parts[number % 2]
        parts[shard] = mine
        self._all_here.wait()
        return list(parts)

    def attend(self, work: Callable[P, None], *given: P.args, **named: P.kwargs) -> None:
        """Do a shard's work; if it fails, nobody waits for it any more."""
        try:
            work(*given, **named)
        except BaseException:
            self._all_here.abort()
            raise


class _End:
    """One thread's end of a meeting."""

    def __init__(self, meeting: Meeting, shard: int, shards: int) -> None:
        self._meeting = meeting
        self.shard = shard
        self.shards = shards

    def swap(self, number: int, mine: bytes) -> list[bytes]:
        """See `Exchange.swap`."""
        return self._meeting.swap(self.shard, number, mine)
