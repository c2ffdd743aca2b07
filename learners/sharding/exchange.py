"""How the shards of a learner exchange what each of them has computed."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier
from typing import ParamSpec, Protocol

P = ParamSpec("P")


class DisagreementError(Exception):
    """The shards of a lane have computed different results; the message says where."""


class Exchange(Protocol):
    """One shard's access to the exchanges, which are numbered from 0 without gaps."""

    shard: int  # number of this shard, from 0
    shards: int  # number of shards

    def swap(self, number: int, part: bytes, *, adopt: bool = False) -> list[bytes]:
        """Give this shard's part of exchange `number`, wait for all parts, and return them.

        The parts are in the order of the shards. A shard that starts again gives the same parts
        again. With `adopt`, another part that it gave before the start is taken instead of this
        one; without, that is a `DisagreementError`.
        """


class ThreadExchange:
    """Exchanges between shards that are threads of one process."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._barrier = Barrier(shards)
        # No shard is more than one exchange ahead of another, so two sets of parts are enough.
        self._parts = [[b""] * shards, [b""] * shards]

    def member(self, shard: int) -> Exchange:
        """Return the access of one shard."""
        return _Member(self, shard, self._shards)

    def swap(self, shard: int, number: int, part: bytes) -> list[bytes]:
        """Leave the part of a shard, wait for the others, and return all parts."""
        parts = self._parts[number % 2]
        parts[shard] = part
        self._barrier.wait()
        return list(parts)

    def run(self, work: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Do the work of one shard. If it fails, the other shards stop waiting for it."""
        try:
            work(*args, **kwargs)
        except BaseException:
            self._barrier.abort()
            raise


class _Member:
    """One thread's access to a `ThreadExchange`."""

    def __init__(self, exchange: ThreadExchange, shard: int, shards: int) -> None:
        self._exchange = exchange
        self.shard = shard
        self.shards = shards

    def swap(self, number: int, part: bytes, *, adopt: bool = False) -> list[bytes]:
        """See `Exchange.swap`."""
        return self._exchange.swap(self.shard, number, part)
