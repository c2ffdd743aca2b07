"""What the shards of a lane found together about a segment, as one record: equal in all shards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.segment import Steps
from learners.sharding.rankings_exchange import Before, Found, ranked_steps
from learners.sharding.rankings_payload import (
    WIDTH_BYTES,
    pack_before,
    pack_found,
    unpack_before,
    unpack_found,
)
from learners.sharding.topic_slice import TopicSlice

ALL_TOPICS = TopicSlice(0, 1)


class Joint(NamedTuple):
    """Rankings and places of labels: what one shard with all topics would send."""

    found: Found
    before: Before


def pack_joint(joint: Joint) -> bytes:
    """The record of what was found."""
    return pack_found(joint.found) + pack_before(joint.before)


def unpack_joint(record: memoryview, steps: Steps) -> Joint:
    """What was found, from its record; raises ValueError if it cannot be."""
    ranked = ranked_steps(steps, 1)
    if len(record) < WIDTH_BYTES:
        raise ValueError(f"{len(record)} bytes")
    width = int(np.frombuffer(record, np.int32, 1)[0])
    size = WIDTH_BYTES + 12 * len(ranked.known) * width + 8 * len(ranked.owners)
    if not 0 < size <= len(record):
        raise ValueError(f"{len(record)} bytes")
    found = unpack_found(record[:size], ranked, ALL_TOPICS)
    return Joint(found, unpack_before(record[size:], ranked, ALL_TOPICS))
