"""Lanes whose probabilities and sets an older version learned in another way."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.engine.engine import Engine
from pipeline.printable import printable


def new_deciders(engine: Engine) -> Iterator[str]:
    """Yield a warning for each lane that was restored without what it had learned of them."""
    for lane in engine.topic_group.lanes:
        if lane.decider is not None and lane.decider.left_out:
            name = printable(lane.name)
            marks = " Until then, all documents are marked for review." * lane.marks_documents
            yield (
                f"lane {name}: an older version learned its probabilities and sets in another way, "
                "so they are those of a new lane. They get better while the lane learns, in a "
                f"replay or on a stream. Commands that only rank do not improve them.{marks}"
            )
