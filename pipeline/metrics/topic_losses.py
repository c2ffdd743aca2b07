"""The loss of single topics as Prometheus is told of it, if that is asked for.

The first topics by number (declared, then as discovered) have a label value each; all others share
one, so there are never more series than were asked for, and one more, a lane.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from learners.arrays import Floats
from pipeline.engine.engine import Engine
from pipeline.metrics import families
from pipeline.metrics.families import Scrape

OTHERS = "(others)"  # a topic that is really called this is one of them


class TopicsSample(NamedTuple):
    """The topics at the end of a block."""

    names: tuple[str, ...]  # of those that have a label value of their own
    lanes: tuple[tuple[str, Floats, Floats], ...]  # name, and of each topic its rounds and loss


def sample_topics(engine: Engine, most: int) -> TopicsSample | None:
    """Copy what a scrape shows of at most so many topics; of 0 topics nothing."""
    if not most:
        return None
    return TopicsSample(
        tuple(engine.topics.names[:most]),
        tuple(
            (lane.name, *losses)
            for lane in engine.lanes
            if (losses := lane.curve.topic_losses()) is not None
        ),
    )


def collect_topics(found: Scrape, sample: TopicsSample) -> None:
    """Add the rounds and the loss of each topic, and of all others together."""
    own = {i: name for i, name in enumerate(sample.names) if name != OTHERS}
    for lane, rounds, loss in sample.lanes:
        for family, counted in ((families.TOPIC_ROUNDS, rounds), (families.TOPIC_LOSS, loss)):
            values = counted.tolist()
            values += [0.0] * (len(sample.names) - len(values))  # declared, but no round yet
            for i, name in own.items():
                found.add(family, values[i], lane, name)
            # Summed exactly, since a sum that is rounded on its way can shrink when a topic joins.
            others = math.fsum(value for i, value in enumerate(values) if i not in own)
            found.add(family, others, lane, OTHERS)
