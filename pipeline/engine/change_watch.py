"""Warn in the log when the loss of a lane has risen."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pipeline.curves.change_text import change_entry, change_text
from pipeline.engine.lane import Lane
from pipeline.printable import printable

log = logging.getLogger(__name__)


class ChangeWatch:
    """Counts the changes of lanes before a block, and warns of those that the block brought."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        self._before = [(lane, lane.curve.changes.total) for lane in lanes]

    def check(self, topics: Sequence[str]) -> None:
        """Warn of each new change; `topics` are the names of all topics."""
        for lane, before in self._before:
            changes = lane.curve.changes
            for change in changes.kept[len(changes.kept) - (changes.total - before) :]:
                text = change_text(change_entry(change, topics), lane.curve.watched)
                log.warning("lane %s changed: %s", printable(lane.name), text)
