"""How the shards of a learner exchange what each of them has computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Barrier, BrokenBarrierError
from typing import NamedTuple, ParamSpec, Protocol

from learners.sharding.meeting_place import MeetingPlace, ThreadPlace

P = ParamSpec("P")

# What the first exchange of a segment is: shards have taken it together, in memory that they
# share, or they take it apart, by exchanges. The first payload of the exchange decides.
APART, TOGETHER = 0, 1


class DisagreementError(Exception):
    """The shards of a lane have computed different results; the message says where."""


class OutvotedError(Exception):
    """The first payload of an exchange has another mark than that of this shard."""


class NoLongerTogetherError(TimeoutError):
    """A shard takes a segment apart that this one has begun together: restart from a snapshot."""


class Sent(NamedTuple):
    """The first payload of an exchange, which decides how the segment is taken."""

    mark: int
    payload: bytes


class Exchange(Protocol):
    """One shard's access to the exchanges, which are numbered from 0 without gaps."""

    shard: int  # number of this shard, from 0
    shards: int  # number of shards

    @property
    def place(self) -> MeetingPlace | None:
        """Where it meets the other shards, if they are on one machine."""

    def swap(
        self, number: int, part: bytes, *, adopt: bool = False, mark: int = APART
    ) -> list[bytes]:
        """Give this shard's part of exchange `number`, wait for all parts, and return them.

        The parts are in the order of the shards. A shard that starts again gives the same parts
        again. With `adopt`, another part that it gave before the start is taken instead of this
        one; without, that is a `DisagreementError`. Raises `OutvotedError` if the first part of
        this exchange has another mark.
        """

    def sent(self, number: int) -> Sent | None:
        """The first payload of exchange `number`, which is the next one, if it is known."""

    def look(self, number: int, missing: Sequence[int], seconds: float) -> Sent | None:
        """As `sent`; called now and then by a shard that waits for others in their place.

        It has waited for `seconds`. Raises an error if it should not wait any longer.
        """


class ThreadExchange:
    """Exchanges between shards that are threads of one process."""

    def __init__(self, shards: int, place: ThreadPlace | None = None) -> None:
        self._shards = shards
        self._place = place
        self._barrier = Barrier(shards)
        # No shard is more than one exchange ahead of another, so two sets of parts are enough.
        self._parts = [[b""] * shards, [b""] * shards]

    def member(self, shard: int) -> Exchange:
        """Return the access of one shard."""
        return _Member(self, shard, self._shards, self._place)

    def swap(self, shard: int, number: int, part: bytes) -> list[bytes]:
        """Leave the part of a shard, wait for the others, and return all parts."""
        parts = self._parts[number % 2]
        parts[shard] = part
        self._barrier.wait()
        return list(parts)

    def check(self) -> None:
        """Raise an error if a shard has failed."""
        if self._barrier.broken:
            raise BrokenBarrierError

    def run(self, work: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Do the work of one shard. If it fails, the other shards stop waiting for it."""
        try:
            work(*args, **kwargs)
        except BaseException:
            self._barrier.abort()
            raise


class _Member:
    """One thread's access to a `ThreadExchange`."""

    def __init__(
        self, exchange: ThreadExchange, shard: int, shards: int, place: ThreadPlace | None
    ) -> None:
        self._exchange = exchange
        self.shard = shard
        self.shards = shards
        self.place = place

    def swap(
        self, number: int, part: bytes, *, adopt: bool = False, mark: int = APART
    ) -> list[bytes]:
        """See `Exchange.swap`; threads are all together, or all apart."""
        return self._exchange.swap(self.shard, number, part)

    def sent(self, number: int) -> Sent | None:
        """Nothing: threads do not start again."""

    def look(self, number: int, missing: Sequence[int], seconds: float) -> Sent | None:
        """See `Exchange.look`."""
        self._exchange.check()
        return None
