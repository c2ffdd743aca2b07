"""Warn in the log when many late labels find no document."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.engine.lane_group import LaneGroup

log = logging.getLogger(__name__)

FIRST_COUNT = 100  # of labels without a document
HIGH_SHARE = 0.1  # of all labels


class LabelWatch:
    """Compares labels without a document with the rounds; warns again when they have doubled."""

    def __init__(self) -> None:
        self._next = FIRST_COUNT

    def check(self, groups: Sequence[LaneGroup]) -> None:
        """Warn if too many labels have no document. Call it after a block."""
        for group in groups:
            lost = group.pending.labels_without_document
            if lost >= self._next and lost > HIGH_SHARE * (group.rounds + lost):
                self._next = 2 * lost
                log.warning(
                    "%s late labels have found no document yet, beside %s rounds: do their ids "
                    "equal those of the documents, and is the text of the documents read?",
                    f"{lost:,}", f"{group.rounds:,}",
                )  # fmt: skip
