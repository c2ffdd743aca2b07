"""Who publishes a lane: one worker at a time, and the worker that was started last.

The broker lets one producer at a time use a transactional id, and a lane has one id. But a producer
that lost its id may take it back, and must do so after some errors, because they do not tell
whether another worker or the broker's timeout ended its transaction. So each worker writes its name
beside the committed offset of its lanes when it starts (a *claim*). A worker that finds the name of
another one there has been replaced, and ends.

A lane may have no offset: it is new, or the broker has forgotten it, which is not the same as
offset 0 (`recovery`). A name cannot be written without an offset. So the claim has offset 0 then,
and says that it is none.
"""

from __future__ import annotations

import os
import secrets
import socket

from consumers.kafka.offsets import NO_OFFSET, CommittedOffset


class LaneOwner:
    """The name of a worker process, and the groups of the lanes that it has claimed."""

    def __init__(self) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(8)}"
        self._claimed: set[str] = set()

    def claimed(self, group: str) -> None:
        """Take note that this process has claimed a lane.

        If its worker has to be restarted later, it must not claim the lane a second time.
        """
        self._claimed.add(group)

    def claim(self, offset: int | None) -> CommittedOffset:
        """What to commit to claim a lane that has published up to `offset`."""
        if offset is None:
            return CommittedOffset(0, self.name + NO_OFFSET)
        return CommittedOffset(offset, self.name)

    def is_replaced(self, group: str, owner: str) -> bool:
        """Whether another worker, whose name is beside the offset, claimed the lane after this one.

        Without a name there, somebody has set the offset by hand, or the broker has forgotten it.
        """
        return group in self._claimed and owner not in {"", self.name}


def owner_of(committed: CommittedOffset) -> str:
    """The name of the worker that has claimed a lane; empty if none has.

    >>> owner_of(CommittedOffset(0, "london:17:3fc9 (claimed without an offset)"))
    'london:17:3fc9'
    """
    return committed.note.removesuffix(NO_OFFSET)
