"""The payloads of the exchange of rankings, and the checks of those that other shards sent."""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.jit import njit
from learners.sharding.rankings_exchange import Before, Found, RankedSteps
from learners.sharding.topic_slice import TopicSlice, owned

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


def unpack_found(payload: memoryview, ranked: RankedSteps, part: TopicSlice) -> Found:
    """What a shard sent in the first exchange; raises ValueError if it cannot be."""
    if len(payload) < WIDTH_BYTES:
        raise ValueError(f"{len(payload)} bytes")
    width, most = int(np.frombuffer(payload, np.int32, 1)[0]), part.count(ranked.most)
    if not 0 <= width <= most:
        raise ValueError(f"{width} places of {most} topics")
    rankings, labels = len(ranked.known), int(ranked.labels[part.shard])
    numbers = rankings * width
    expected = WIDTH_BYTES + 12 * numbers + 8 * labels
    if len(payload) != expected:
        raise ValueError(f"{len(payload)} bytes, expected {expected}")
    order = np.frombuffer(payload, np.int32, numbers, WIDTH_BYTES).reshape(rankings, width)
    scores = np.frombuffer(payload, np.float64, numbers + labels, WIDTH_BYTES + order.nbytes)
    if not scores.flags.aligned:
        scores = scores.copy()  # a kernel would be compiled once more for them
    found = Found(order, scores[:numbers].reshape(rankings, width), scores[numbers:])
    fault = first_fault(*found, ranked.known, part.shard, part.shards)
    if fault >= 0:
        raise ValueError(FAULTS[fault])
    return found


@njit
def first_fault(
    order: Ints, values: Floats, labels: Floats, known: Ints, shard: int, shards: int
) -> int:
    """What is wrong with what a shard found, as an index of `FAULTS`; -1: nothing.

    `known` is how many topics all shards had at each ranking.
    """
    divisor, remainder = np.uint32(shards), np.uint32(shard)
    for row in range(len(known)):
        filled = min(order.shape[1], owned(known[row], shard, shards))
        before, earlier = np.inf, -1
        for place in range(filled):
            topic, score = order[row, place], values[row, place]
            if topic < 0:
                return GAPS
            if topic >= known[row] or np.uint32(topic) % divisor != remainder:
                return FOREIGN
            if not score < before:  # rare: level with the topic before, or wrong
                if not np.isfinite(score):
                    return NOT_FINITE
                if score > before or topic <= earlier:
                    return DISORDER
            before, earlier = score, topic
        if before == -np.inf:  # nothing that follows is less
            return NOT_FINITE
        for place in range(filled, order.shape[1]):
            if order[row, place] >= 0:
                return GAPS
            if not np.isfinite(values[row, place]):
                return NOT_FINITE
    for score in labels:
        if not np.isfinite(score):
            return NOT_FINITE
    return -1


def pack_before(before: Before) -> bytes:
    """The payload of the second exchange."""
    return b"".join(array.tobytes() for array in before)


def unpack_before(payload: memoryview, ranked: RankedSteps, part: TopicSlice) -> Before:
    """What a shard sent in the second exchange; raises ValueError if it cannot be."""
    count = len(ranked.owners)
    if len(payload) != 8 * count:
        raise ValueError(f"{len(payload)} bytes, expected {8 * count}")
    ranks, level = np.frombuffer(payload, np.int32).reshape(2, count)
    steps = ranked.steps
    labels = steps.labels[steps.label_starts[0] : steps.label_starts[-1]]
    if not counts_fit(
        ranks, level, steps.known, steps.label_starts, labels, part.shard, part.shards
    ):
        raise ValueError("counts of more topics than it has")
    return Before(ranks, level)


@njit
def counts_fit(
    ranks: Ints, level: Ints, known: Ints, label_starts: Longs, labels: Ints, shard: int,
    shards: int,
) -> bool:  # fmt: skip
    """Whether all counts are between 0 and the number of topics that the shard had.

    No topic ranks before itself, so no rank can be behind the last one. Curves count ranks in
    arrays that have a place for each topic.
    """
    first, fit = label_starts[0], True
    for step in range(len(known)):
        most = owned(known[step], shard, shards)
        for i in range(label_starts[step] - first, label_starts[step + 1] - first):
            is_own = labels[i] % shards == shard
            fit &= 0 <= ranks[i] <= most - is_own and 0 <= level[i] <= most
    return fit
