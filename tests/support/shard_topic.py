"""A topic and a place to meet for shards that are threads, and that are killed now and then."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from learners.sharding.exchange import (
    APART,
    DisagreementError,
    OutvotedError,
    Sent,
)
from learners.sharding.meeting_place import MeetingPlace, ThreadPlace

TIMEOUT_S = 60.0


class KilledError(Exception):
    """The shard was killed."""


class Payload(NamedTuple):
    """A record of the topic."""

    number: int
    shard: int
    mark: int
    content: bytes


class Room(ThreadPlace):
    """Memory of some shards; who finds nobody there begins with empty memory."""

    def __init__(self, shards: int) -> None:
        super().__init__(shards)
        self._shards = shards
        self._here: set[int] = set()
        self._lock = threading.Lock()

    def enter(self, shard: int) -> None:
        """Come into the room."""
        with self._lock:
            if not self._here:
                for array in self.arrays:
                    array[...] = 0
            self._here.add(shard)

    def leave(self, shard: int) -> None:
        """Leave it, or die."""
        with self._lock:
            self._here.discard(shard)

    def everyone_is_here(self) -> bool:
        """Whether all shards are in the room."""
        with self._lock:
            return len(self._here) == self._shards


class Topic:
    """What all shards have sent, in order; the first payload of an exchange decides its mark."""

    def __init__(self, shards: int) -> None:
        self.shards = shards
        self.payloads: list[Payload] = []
        self.changed = threading.Condition()

    def sent(self, number: int) -> tuple[int | None, dict[int, bytes]]:
        """The mark of an exchange, and what was sent with it by each shard."""
        of_number = [payload for payload in self.payloads if payload.number == number]
        if not of_number:
            return None, {}
        mark = of_number[0].mark
        return mark, {p.shard: p.content for p in of_number if p.mark == mark}


class Life:
    """The exchange of a shard, which is killed when it has been used so often."""

    def __init__(
        self, topic: Topic, shard: int, place: MeetingPlace | None, uses: int | None
    ) -> None:
        self.shard, self.shards, self.place = shard, topic.shards, place
        self._topic = topic
        self._uses = uses

    def _use(self) -> None:
        if self._uses is not None:
            self._uses -= 1
            if self._uses < 0:
                raise KilledError

    def swap(
        self, number: int, part: bytes, *, adopt: bool = False, mark: int = APART
    ) -> list[bytes]:
        """See `Exchange.swap`."""
        self._use()
        with self._topic.changed:
            decided, sent = self._topic.sent(number)
            if decided in (None, mark) and self.shard not in sent:
                self._topic.payloads.append(Payload(number, self.shard, mark, part))
                self._topic.changed.notify_all()
            elif decided == mark and sent[self.shard] != part and not adopt:
                raise DisagreementError(f"exchange {number} of shard {self.shard} has changed")
            self._use()
            while True:
                decided, sent = self._topic.sent(number)
                if decided != mark:
                    raise OutvotedError
                if len(sent) == self.shards:
                    return [sent[shard] for shard in range(self.shards)]
                if not self._topic.changed.wait(TIMEOUT_S):
                    raise TimeoutError(f"exchange {number} of shard {self.shard}")

    def sent(self, number: int) -> Sent | None:
        """See `Exchange.sent`."""
        self._use()
        with self._topic.changed:
            mark, sent = self._topic.sent(number)
        return None if mark is None else Sent(mark, next(iter(sent.values())))

    def look(self, number: int, missing: Sequence[int], seconds: float) -> Sent | None:
        """See `Exchange.look`."""
        if seconds > TIMEOUT_S:
            raise TimeoutError(f"shard {self.shard} waits for {missing} in exchange {number}")
        return self.sent(number) if missing else None


def in_threads(works: Sequence[Callable[[], None]]) -> None:
    """Run all at the same time; raise the first error."""
    errors: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def uses_of_a_life(rng: random.Random) -> int:
    """How often a shard uses its exchange before it is killed: at times after its first step."""
    return rng.choice((1, 2, 3, 5, 10, 20, 40))
