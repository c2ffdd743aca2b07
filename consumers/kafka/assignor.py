"""Which member of a group reads which partitions: cooperative and sticky.

kafka-python 3.0.12 has a fault here. A member that was removed from its group (because it stood
still for longer than its session timeout) goes on to claim the partitions that it had. If such a
partition is meant for another member by then, the group waits for the claimant to give it up, but
the claimant no longer has it. Nobody ever reads the partition again, and there is no error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor


class OwnedPartitionsAssignor(CooperativeStickyAssignor):  # type: ignore[misc]
    """Claims only the partitions that the consumer really has.

    Partitions that stay with their member are read on during a rebalance.
    """

    def __init__(self) -> None:
        super().__init__()
        self.member_assignment: list[Any] = []
        self.owned_partitions: Callable[[], Collection[Any]] = list  # set to the consumer's own

    def metadata(self, topics: Any) -> Any:  # noqa: ANN401 - kafka-python has no types
        """What a member says about itself when it joins the group."""
        owned = set(self.owned_partitions())
        self.member_assignment = [p for p in self.member_assignment if p in owned]
        return super().metadata(topics)
