"""Kernels of index learners: retrieve classes, rank them, and strengthen connections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit
from learners.segment import Rows, Steps
from learners.sparse_scores import Retrieved

RETRIEVED_RANKS = 50  # a true class below this rank counts as not retrieved
SEEN_WELL = 10.0  # with `rating`, a feature that was seen less often has smaller votes
ALL = 2**31 - 1
# Columns of `Index.lists`: the first place of a feature's list, its connections, the places that it
# has room for, and the number of documents in which it was learned.
FIRST, COUNT, ROOM, SEEN = range(4)
# Numbers in `Index.sizes`: places in use, connections, and (summed over all rankings) connections
# visited and features looked up.
USED, CONNECTIONS, TOUCHED, LOOKED_UP = range(4)


class Index(NamedTuple):
    """The connections of all features: one list per feature, heaviest connection first.

    The list of feature f is at the places `lists[f, FIRST]` to `lists[f, FIRST] + lists[f, COUNT]`
    of `classes` and `weights`. The share of a connection is its weight divided by `total[f]`.
    """

    lists: Longs
    total: Floats
    classes: Ints
    weights: Floats
    sizes: Longs


class IndexOptions(NamedTuple):
    """The options of an index learner; see `FeatureFocus` and `Independent`."""

    margin: float
    w_min: float  # connections with a smaller share are dropped
    d_max: int  # connections of a feature that vote
    least_share: float  # connections with a smaller share do not vote
    leak: bool
    rating: bool
    boolean: bool
    memory: float
    always: bool  # every label is learned, and `total` counts documents
    counting: bool  # count how often features are seen


class Retrieval(NamedTuple):
    """Room to retrieve the classes of one document. All but `retrieved` is zero in between."""

    tally: Floats  # the score of each class
    is_retrieved: Bools
    is_relevant: Bools
    retrieved: Ints


@njit
def retrieve(
    terms: Ints, values: Floats, index: Index, options: IndexOptions, retrieval: Retrieval
) -> tuple[int, int]:
    """Let the features vote; return the number of retrieved classes and of visited connections."""
    lists, total, classes, weights = index.lists, index.total, index.classes, index.weights
    tally, is_retrieved, _, retrieved = retrieval
    count = touched = 0
    for i in range(len(terms)):
        feature, value = terms[i], values[i]
        if value <= 0.0 or lists[feature, COUNT] == 0:
            continue
        vote = 1.0 if options.boolean else value
        if options.rating:
            vote *= min(1.0, lists[feature, SEEN] / SEEN_WELL)
        start = lists[feature, FIRST]
        for j in range(start, start + min(lists[feature, COUNT], options.d_max)):
            share = weights[j] / total[feature]
            if share < options.least_share:
                break  # the connections behind it are no heavier
            touched += 1
            chosen = classes[j]
            if not is_retrieved[chosen]:
                is_retrieved[chosen] = True
                retrieved[count] = chosen
                count += 1
            tally[chosen] += vote * share
    return count, touched


@njit
def mark_narrow(
    retrieval: Retrieval, count: int, relevant: Ints, margin: float, narrow: Bools
) -> None:
    """Mark the relevant classes that lead the best wrong class by no more than the margin."""
    tally, _, is_relevant, retrieved = retrieval
    for c in relevant:
        is_relevant[c] = True
    best_wrong = 0.0
    for i in range(count):
        if not is_relevant[retrieved[i]]:
            best_wrong = max(best_wrong, tally[retrieved[i]])
    for c in relevant:
        is_relevant[c] = False
    for number in range(len(relevant)):
        c = relevant[number]
        better = 0
        for i in range(count):
            other = retrieved[i]
            better += tally[other] > tally[c] or (tally[other] == tally[c] and other < c)
        score = tally[c] if better < RETRIEVED_RANKS else 0.0
        narrow[number] = score - best_wrong <= margin


@njit
def strengthen(
    entry: Longs, chosen: int, gain: float, total: float, classes: Ints, weights: Floats,
    sizes: Longs, options: IndexOptions,
) -> float:  # fmt: skip
    """Add `gain` to a connection, and drop the connections that have become too light.

    `entry` is the feature's row of `Index.lists`, and `total` its total, gain included. Returns the
    total after that. There must be room behind the places in use for the list to move to. The
    arrays of the index come one by one: passing the index takes longer than the work here.
    """
    start, count = entry[FIRST], entry[COUNT]
    place = start
    while place < start + count and classes[place] != chosen:
        place += 1
    if place == start + count:
        if count == entry[ROOM]:
            entry[FIRST], entry[ROOM] = sizes[USED], max(2, 2 * count)
            for i in range(count):
                classes[entry[FIRST] + i] = classes[start + i]
                weights[entry[FIRST] + i] = weights[start + i]
            start = entry[FIRST]
            sizes[USED] += entry[ROOM]
        place = start + count
        classes[place], weights[place] = chosen, 0.0
        entry[COUNT] += 1
        sizes[CONNECTIONS] += 1
    weight = weights[place] + gain
    # Of connections with equal weights the older one stays ahead.
    while place > start and weights[place - 1] < weight:
        classes[place] = classes[place - 1]
        weights[place] = weights[place - 1]
        place -= 1
    classes[place], weights[place] = chosen, weight
    last = start + entry[COUNT] - 1
    while last >= start and weights[last] / total < options.w_min:
        if not options.leak:
            total -= weights[last]
        entry[COUNT] -= 1
        sizes[CONNECTIONS] -= 1
        last -= 1
    if 0.0 < options.memory < total:
        factor = options.memory / total
        for i in range(start, last + 1):
            weights[i] *= factor
        total = options.memory
    return total


@njit
def emit(
    row: int, count: int, retrieval: Retrieval, out: Retrieved, used: int
) -> tuple[Retrieved, int]:
    """Write the retrieved classes of a row behind the first `used` places of `out`.

    Returns `out`, which may have moved to get more room, and the places used then.
    """
    if used + count > len(out.topics):
        more = max(len(out.topics), count)
        out = Retrieved(
            out.starts,
            out.stops,
            np.concatenate((out.topics, np.empty(more, np.int32))),
            np.concatenate((out.scores, np.empty(more))),
        )
    out.starts[row] = used
    for i in range(count):
        chosen = retrieval.retrieved[i]
        if retrieval.tally[chosen] > 0.0:  # a vote may be too small to count
            out.topics[used], out.scores[used] = chosen, retrieval.tally[chosen]
            used += 1
    out.stops[row] = used
    return out, used


class Moved(NamedTuple):
    """The arrays that `follow_index` may have moved to get more room."""

    classes: Ints  # of the index
    weights: Floats
    out_classes: Ints
    out_scores: Floats
    used: int  # places of `out_classes` and `out_scores` in use


@njit
def follow_index(
    rows: Rows, steps: Steps, index: Index, options: IndexOptions, retrieval: Retrieval,
    out: Retrieved, used: int,
) -> Moved:  # fmt: skip
    """Take the steps in order. See `emit` for `out` and `used`."""
    lists, total, classes, weights, sizes = index
    for step in range(len(steps.row)):
        row = steps.row[step]
        terms = rows.terms[rows.starts[row] : rows.starts[row + 1]]
        values = rows.values[rows.starts[row] : rows.starts[row + 1]]
        index = Index(lists, total, classes, weights, sizes)
        count, touched = retrieve(terms, values, index, options, retrieval)
        if not steps.learn[step]:
            sizes[TOUCHED] += touched
            for value in values:
                sizes[LOOKED_UP] += value > 0.0
            out, used = emit(row, count, retrieval, out, used)
        else:
            relevant = steps.labels[steps.label_starts[step] : steps.label_starts[step + 1]]
            learned = np.ones(len(relevant), np.bool_)
            if not options.always:
                mark_narrow(retrieval, count, relevant, options.margin, learned)
            for i in range(len(terms)):
                feature, value = terms[i], values[i]
                if value <= 0.0:
                    continue
                gain = 1.0 if options.boolean else value
                if options.counting:
                    lists[feature, SEEN] += 1
                if options.always:
                    total[feature] += gain
                # The list may have to move to twice the room, and again as it grows further:
                # 2 + 4 + 8 + .. is less than twice the last of these.
                needed = 4 * (lists[feature, COUNT] + len(relevant))
                if sizes[USED] + needed > len(classes):
                    more = max(len(classes), needed)
                    classes = np.concatenate((classes, np.empty(more, np.int32)))
                    weights = np.concatenate((weights, np.empty(more)))
                for number in range(len(relevant)):
                    if learned[number]:
                        grown = total[feature] + (0.0 if options.always else gain)
                        total[feature] = strengthen(
                            lists[feature], relevant[number], gain, grown, classes, weights, sizes,
                            options,
                        )  # fmt: skip
        for i in range(count):
            retrieval.tally[retrieval.retrieved[i]] = 0.0
            retrieval.is_retrieved[retrieval.retrieved[i]] = False
    return Moved(classes, weights, out.topics, out.scores, used)


@njit
def pack(index: Index, features: int, classes: Ints, weights: Floats) -> None:
    """Write the connections of the first features one after another, without gaps."""
    at = 0
    for feature in range(features):
        first = index.lists[feature, FIRST]
        for i in range(first, first + index.lists[feature, COUNT]):
            classes[at], weights[at] = index.classes[i], index.weights[i]
            at += 1
