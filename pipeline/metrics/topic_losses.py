"""The loss of single topics, for Prometheus, if the configuration asks for it.

The first N topics by number (declared topics, then discovered ones) have a label value each. All
other topics share one label value, so there are at most N + 1 series per lane.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from learners.arrays import Floats
from pipeline.engine.engine import Engine
from pipeline.metrics import families
from pipeline.metrics.families import Scrape

OTHERS = "(others)"  # a topic with this name is counted among the others


class TopicsSample(NamedTuple):
    """The topics at the end of a block."""

    names: tuple[str, ...]  # the topics that have a label value of their own
    lanes: tuple[tuple[str, Floats, Floats], ...]  # name; rounds per topic; loss per topic


def sample_topics(engine: Engine, most: int) -> TopicsSample | None:
    """Copy what a scrape shows of at most `most` topics; None for 0 topics."""
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


def collect_topics(scrape: Scrape, sample: TopicsSample) -> None:
    """Add the rounds and the loss of each topic, and of all other topics together."""
    own = {i: name for i, name in enumerate(sample.names) if name != OTHERS}
    for lane, rounds, loss in sample.lanes:
        for family, counted in ((families.TOPIC_ROUNDS, rounds), (families.TOPIC_LOSS, loss)):
            values = counted.tolist()
            values += [0.0] * (len(sample.names) - len(values))  # topics that have no round yet
            for i, name in own.items():
                scrape.add(family, values[i], lane, name)
            # An exact sum: a rounded sum could decrease when a topic joins.
            others = math.fsum(value for i, value in enumerate(values) if i not in own)
            scrape.add(family, others, lane, OTHERS)
