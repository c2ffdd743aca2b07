"""Who reads which partitions: cooperative and sticky, by members that claim only what they have.

kafka-python 3.0.12 lets a member that was expelled (it stood still for longer than its session) go
on to claim the partitions that it had. If one of them is meant for another member by then, the
group waits for it to be given up by somebody who does not have it: it is read by nobody, for ever,
without an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor


class HonestAssignor(CooperativeStickyAssignor):  # type: ignore[misc]
    """Shares a topic out so that only what changes hands stands still."""

    def __init__(self) -> None:
        super().__init__()
        self.member_assignment: list[Any] = []
        self.owned: Callable[[], Collection[Any]] = list  # what its consumer has

    def metadata(self, topics: Any) -> Any:  # noqa: ANN401 - kafka-python has no types
        """What a member says of itself when it joins the group."""
        owned = set(self.owned())
        self.member_assignment = [p for p in self.member_assignment if p in owned]
        return super().metadata(topics)
