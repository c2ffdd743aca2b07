"""The payloads of the exchange of rankings, and the checks of those that other shards sent."""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.jit import njit
from learners.segment import Steps
from learners.sharding.rankings_exchange import Before, Found
from learners.sharding.topic_slice import TopicSlice

WIDTH_BYTES = 4
FAULTS = (
    "scores that are not finite",
    "rankings with gaps",
    "topics of other shards, or unknown ones",
    "rankings that are not in order",
)
NOT_FINITE, GAPS, FOREIGN, DISORDER = range(len(FAULTS))


def pack_found(found: Found) -> bytes:
    """The payload of the first exchange."""
    width = np.array(found.order.shape[1], np.int32)
    return b"".join(array.tobytes() for array in (width, *found))


def unpack_found(payload: memoryview, steps: Steps, part: TopicSlice) -> Found:
    """What a shard sent in the first exchange; raises ValueError if it cannot be."""
    if len(payload) < WIDTH_BYTES:
        raise ValueError(f"{len(payload)} bytes")
    known = part.counts(steps.known[~steps.learn])
    width = int(np.frombuffer(payload, np.int32, 1)[0])
    labels = np.count_nonzero(part.owns(labels_in(steps)))
    if not 0 <= width <= int(known.max(initial=0)):
        raise ValueError(f"{width} places of {known.max(initial=0)} topics")
    numbers = len(known) * width
    expected = WIDTH_BYTES + 12 * numbers + 8 * labels
    if len(payload) != expected:
        raise ValueError(f"{len(payload)} bytes, expected {expected}")
    at = WIDTH_BYTES
    order = np.frombuffer(payload, np.int32, numbers, at).reshape(len(known), width)
    at += order.nbytes
    values = np.frombuffer(payload, np.float64, numbers, at).reshape(len(known), width)
    found = Found(order, values, np.frombuffer(payload, np.float64, labels, at + values.nbytes))
    fault = first_fault(order, values, known, part.shard, part.shards)
    if fault < 0 and not np.isfinite(found.labels).all():
        fault = NOT_FINITE
    if fault >= 0:
        raise ValueError(FAULTS[fault])
    return found


@njit
def first_fault(order: Ints, values: Floats, known: Ints, shard: int, shards: int) -> int:
    """What is wrong with the best topics of a shard, as an index of `FAULTS`; -1: nothing.

    `known` is how many topics the shard had at each ranking.
    """
    for row in range(len(known)):
        filled = min(order.shape[1], known[row])
        above = known[row] * shards  # all of its topics are below
        before, earlier = np.inf, -1
        for place in range(order.shape[1]):
            topic, score = order[row, place], values[row, place]
            if not np.isfinite(score):
                return NOT_FINITE
            if (topic >= 0) != (place < filled):
                return GAPS
            if place >= filled:
                continue
            if topic >= above or np.uint32(topic) % np.uint32(shards) != shard:
                return FOREIGN
            if score > before or (score == before and topic <= earlier):
                return DISORDER
            before, earlier = score, topic
    return -1


def labels_in(steps: Steps) -> Ints:
    """The labels of all steps."""
    return steps.labels[steps.label_starts[0] : steps.label_starts[-1]]


def pack_before(before: Before) -> bytes:
    """The payload of the second exchange."""
    return b"".join(array.tobytes() for array in before)


def unpack_before(payload: memoryview, steps: Steps, part: TopicSlice) -> Before:
    """What a shard sent in the second exchange; raises ValueError if it cannot be."""
    count = len(labels_in(steps))
    if len(payload) != 8 * count:
        raise ValueError(f"{len(payload)} bytes, expected {8 * count}")
    ranks, level = np.frombuffer(payload, np.int32).reshape(2, count)
    before = Before(ranks, level)
    if not counts_fit(before, part.counts(steps.known), steps.label_starts):
        raise ValueError("counts of more topics than it has")
    return before


@njit
def counts_fit(before: Before, known: Ints, label_starts: Longs) -> bool:
    """Whether all counts are between 0 and how many topics the shard had at each step."""
    ranks, level = before
    first, fit = label_starts[0], True
    for step in range(len(known)):
        for i in range(label_starts[step] - first, label_starts[step + 1] - first):
            fit &= 0 <= ranks[i] <= known[step] and 0 <= level[i] <= known[step]
    return fit
