"""What tests need for an exchange of shards that do not meet in shared memory."""

from __future__ import annotations

from collections.abc import Sequence

from learners.sharding.exchange import Sent
from learners.sharding.meeting_place import MeetingPlace


class ApartExchange:
    """An `Exchange` without `swap`."""

    place: MeetingPlace | None = None

    def sent(self, number: int) -> Sent | None:
        """Nothing is known before `swap`."""

    def look(self, number: int, missing: Sequence[int], seconds: float) -> Sent | None:
        """Nobody waits in shared memory."""
