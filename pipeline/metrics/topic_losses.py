"""The loss of single topics, and how well they are assigned, for Prometheus, if asked for.

The first N topics by number (declared topics, then discovered ones) have a label value each. All
other topics share one label value, so there are at most N + 1 series per lane.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from learners.arrays import Floats
from pipeline.engine.engine import Engine
from pipeline.engine.lane import Lane
from pipeline.metrics import families
from pipeline.metrics.families import Family, Scrape

OTHERS = "(others)"  # a topic with this name is counted among the others


class TopicsSample(NamedTuple):
    """The topics at the end of a block."""

    names: tuple[str, ...]  # the topics that have a label value of their own
    # Per lane: its name, and values per topic of each family that it has.
    lanes: tuple[tuple[str, tuple[tuple[Family, Floats], ...]], ...]


def sample_topics(engine: Engine, most: int) -> TopicsSample | None:
    """Copy what a scrape shows of at most `most` topics; None for 0 topics."""
    if not most:
        return None
    return TopicsSample(
        tuple(engine.topics.names[:most]),
        tuple((lane.name, counts) for lane in engine.lanes if (counts := topic_counts(lane))),
    )


def topic_counts(lane: Lane) -> tuple[tuple[Family, Floats], ...]:
    """Copy what a lane counts for each topic, family by family; nothing if it learns ranks."""
    losses, curve = lane.curve.topic_losses(), lane.decision_curve
    if losses is None:
        return ()
    counts = list(zip((families.TOPIC_ROUNDS, families.TOPIC_LOSS), losses, strict=True))
    if curve is not None:
        decided = (families.TOPIC_ASSIGNED, families.TOPIC_RIGHT)
        counts += zip(decided, curve.topics.counts(), strict=True)
    return tuple(counts)


def collect_topics(scrape: Scrape, sample: TopicsSample) -> None:
    """Add the counts of each topic, and of all other topics together."""
    own = {i: name for i, name in enumerate(sample.names) if name != OTHERS}
    for lane, counts in sample.lanes:
        for family, counted in counts:
            values = counted.tolist()
            values += [0.0] * (len(sample.names) - len(values))  # topics that have no round yet
            for i, name in own.items():
                scrape.add(family, values[i], lane, name)
            # An exact sum: a rounded sum could decrease when a topic joins.
            others = math.fsum(value for i, value in enumerate(values) if i not in own)
            scrape.add(family, others, lane, OTHERS)
