"""Who publishes a lane: one worker at a time, and the worker that was started last.

The broker lets one producer at a time use a transactional id, and a lane has one id. But a producer
that lost its id may take it back, and must do so after some errors, because they do not tell
whether another worker or the broker's timeout ended its transaction. So each worker writes its name
beside the committed offset of its lanes when it starts (a *claim*). A worker that finds the name of
another one there has been replaced, and ends.
"""

from __future__ import annotations

import os
import secrets
import socket


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

    def is_replaced(self, group: str, name: str) -> bool:
        """Whether another worker, whose name is beside the offset, claimed the lane after this one.

        Without a name there, somebody has set the offset by hand, or the broker has forgotten it.
        """
        return group in self._claimed and name not in {"", self.name}
