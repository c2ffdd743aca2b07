"""How shards find rankings and measures together, each knowing the scores of its own topics.

This takes two exchanges for all steps of a segment, with a few numbers for each document:

1. Each shard sends its best topics of every ranked row, and its scores of the relevant topics.
   Merged, the former are the best topics of all.
2. Now all shards know the scores of the relevant topics. Each shard sends how many of its own
   topics rank before each of them. Added up, these are the places of the relevant topics.

Everything that a shard receives is checked before it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.best_topics import best_of_all
from learners.jit import njit
from learners.scores import UNRANKED, Places, sort_few
from learners.segment import Steps, labels_of
from learners.sharding.topic_slice import TopicSlice, owned


class Found(NamedTuple):
    """What one shard sends in the first exchange."""

    order: Ints  # ranked rows x places: its best topics, best first; -1: it has no more
    values: Floats  # their scores
    labels: Floats  # its scores of the relevant topics that belong to it, in the order of the steps


class Before(NamedTuple):
    """What one shard sends in the second exchange, for every relevant topic of every step."""

    ranks: Ints  # how many of its topics rank before it
    level: Ints  # how many of its topics, also of those that are new, score as high or higher


class RankedSteps(NamedTuple):
    """The steps of a segment, with what all payloads about them have in common."""

    steps: Steps
    rows: slice | Ints  # that the steps rank; in general a slice, which needs no copy of scores
    known: Ints  # topics at each of these rankings
    most: int  # of them
    owners: Ints  # the shard of each label
    labels: Longs  # how many labels each shard has


def ranked_steps(steps: Steps, shards: int) -> RankedSteps:
    """Find out what the payloads about these steps have in common."""
    rows, known, most, is_range = rankings_of(steps.row, steps.learn, steps.known)
    owners, counts = owners_of(steps.label_starts, steps.labels, shards)
    some = slice(int(rows[0]), int(rows[-1]) + 1) if is_range else rows
    return RankedSteps(steps, some, known, most, owners, counts)


# Small arrays, but kernels all the same: after a segment has been learned, the first call of
# every function of numpy takes some 20 us, because nothing of it is in a cache.


@njit
def rankings_of(row: Ints, learn: Bools, known: Ints) -> tuple[Ints, Ints, int, bool]:
    """The rows that steps rank, the topics known then, the most of these, and if it is a range."""
    rows, topics = np.empty(len(row), np.int32), np.empty(len(row), np.int32)
    count = most = 0
    is_range = True
    for step in range(len(row)):
        if learn[step]:
            continue
        rows[count], topics[count] = row[step], known[step]
        is_range &= row[step] - rows[0] == count
        most = max(most, known[step])
        count += 1
    return rows[:count], topics[:count], most, is_range and count > 0


@njit
def owners_of(label_starts: Longs, labels: Ints, shards: int) -> tuple[Ints, Longs]:
    """The shard of each label, and how many labels each shard has."""
    first, last = label_starts[0], label_starts[-1]
    owners, counts = np.empty(last - first, np.int32), np.zeros(shards, np.int64)
    for i in range(first, last):
        owner = labels[i] % shards
        owners[i - first] = owner
        counts[owner] += 1
    return owners, counts


def find(own: Floats, ranked: RankedSteps, top: int, part: TopicSlice) -> Found:
    """The best topics and the relevant scores of one shard. `top` 0 stands for all topics."""
    width = part.count(ranked.most)
    width = min(width, top) if top else width
    rankings = len(ranked.known)
    found = Found(
        np.full((rankings, width), -1, np.int32),
        np.zeros((rankings, width)),
        np.empty(ranked.labels[part.shard]),
    )
    find_best(own[ranked.rows], ranked.known, part, found)
    find_labels(own, ranked.steps, part, found.labels)
    return found


@njit
def find_best(own: Floats, known: Ints, part: TopicSlice, found: Found) -> None:
    """Find the best topics of a shard, with the numbers that they have in the undivided lane."""
    shard, shards = part.shard, part.shards
    order = found.order
    counts = np.empty(len(known), np.int32)
    for row in range(len(known)):
        counts[row] = owned(known[row], shard, shards)
    best_of_all(own, counts, order, found.values)
    for row in range(len(known)):
        for place in range(min(order.shape[1], counts[row])):
            order[row, place] = order[row, place] * shards + shard


@njit
def find_labels(own: Floats, steps: Steps, part: TopicSlice, scores: Floats) -> None:
    """Find the scores of the labels that belong to a shard."""
    step_row, label_starts, labels = steps.row, steps.label_starts, steps.labels
    shard, shards = part.shard, part.shards
    count = 0
    for step in range(len(step_row)):
        for i in range(label_starts[step], label_starts[step + 1]):
            if labels[i] % shards == shard:
                scores[count] = own[step_row[step], labels[i] // shards]
                count += 1


@njit
def merge_best(orders: Ints, values: Floats, order: Ints, merged: Floats) -> None:
    """Merge the best topics of all shards (shards x rows x places), ties by index."""
    shards, rows, places = orders.shape
    at = np.zeros(shards, np.int64)
    topics, scores = np.zeros(shards, np.int32), np.zeros(shards)  # at these places
    for row in range(rows):
        at[:] = 0
        for shard in range(shards):
            topics[shard] = orders[shard, row, 0] if places else -1
            scores[shard] = values[shard, row, 0] if places else 0.0
        for place in range(order.shape[1]):
            best, score, topic = -1, 0.0, 0
            for shard in range(shards):
                value, other = scores[shard], topics[shard]
                if other < 0:
                    continue
                if best < 0 or value > score or (value == score and other < topic):
                    best, score, topic = shard, value, other
            if best < 0:
                break
            order[row, place], merged[row, place] = topic, score
            at[best] += 1
            i = at[best]
            topics[best] = orders[best, row, i] if i < places else -1
            scores[best] = values[best, row, i] if i < places else 0.0


def best_of_shards(found: Sequence[Found], ranked: RankedSteps) -> tuple[Ints, Floats]:
    """The best topics of all shards; as many places as all lists are long enough for."""
    shards, rankings, width = len(found), len(ranked.known), ranked.most
    for shard, one in enumerate(found):
        sent = one.order.shape[1]
        if sent < owned(ranked.most, shard, shards):
            width = min(width, sent)
    longest = max(one.order.shape[1] for one in found)
    orders = np.empty((shards, rankings, longest), np.int32)
    values = np.empty((shards, rankings, longest))
    for shard, one in enumerate(found):
        sent = one.order.shape[1]
        orders[shard, :, :sent], values[shard, :, :sent] = one.order, one.values
        orders[shard, :, sent:] = -1
    order, merged = np.full((rankings, width), -1, np.int32), np.zeros((rankings, width))
    merge_best(orders, values, order, merged)
    return order, merged


def label_scores(found: Sequence[Found], ranked: RankedSteps) -> Floats:
    """The scores of all relevant topics, in the order of the steps."""
    return in_step_order(
        np.concatenate([one.labels for one in found]), ranked.owners, ranked.labels
    )


@njit
def in_step_order(scores: Floats, owners: Ints, counts: Longs) -> Floats:
    """Put the scores of labels that came shard by shard into the order of the labels."""
    ordered, at = np.empty(len(owners)), np.cumsum(counts) - counts
    for i in range(len(owners)):
        ordered[i] = scores[at[owners[i]]]
        at[owners[i]] += 1
    return ordered


@njit
def count_before(
    steps: Steps, own: Floats, scores: Floats, part: TopicSlice, before: Before
) -> None:
    """Count, for every label of a learned row, the own topics that rank before it.

    See `learners.scores.place_in_all`, which does the same for all topics.
    """
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels, step_ranked = steps.label_starts, steps.labels, steps.ranked
    shard, shards = part.shard, part.shards
    first = label_starts[0]
    for step in range(len(step_row)):
        if not step_learn[step]:
            continue
        given = own[step_row[step]]
        ranked = owned(step_ranked[step], shard, shards)
        known = owned(step_known[step], shard, shards)
        for i in range(label_starts[step], label_starts[step + 1]):
            score = scores[i - first]
            better = level = 0
            for s in range(ranked):
                better += given[s] > score
                level += given[s] >= score
            for s in range(ranked, known):
                level += given[s] >= score
            for s in range(owned(labels[i], shard, shards)):
                better += given[s] == score
            before.ranks[i - first], before.level[i - first] = better, level


@njit
def place_labels(steps: Steps, scores: Floats, before: Before, places: Places) -> bool:
    """Turn the counts of all shards into the places of the labels.

    Returns whether no label has more irrelevant topics above it than there are, nor fewer than 0.
    """
    step_learn, step_known, step_ranked = steps.learn, steps.known, steps.ranked
    label_starts, labels = steps.label_starts, steps.labels
    ranks, above, hits = places
    first, fit = label_starts[0], True
    for step in range(len(step_learn)):
        start, stop = label_starts[step] - first, label_starts[step + 1] - first
        if not step_learn[step] or start == stop:
            continue
        relevant = labels_of(label_starts, labels, step)
        irrelevant = step_known[step] - len(relevant)
        for i in range(start, stop):
            level = before.level[i]
            for other in scores[start:stop]:
                level -= other >= scores[i]
            fit &= 0 <= level <= irrelevant
            is_ranked = relevant[i - start] < step_ranked[step]
            ranks[i] = 1 + before.ranks[i] if is_ranked else UNRANKED
            above[i] = level
        sort_few(ranks[start:stop])
        if ranks[start] != UNRANKED:
            hits[step] = ranks[start]
    return fit


def total(counted: Sequence[Before]) -> Before:
    """The counts of all shards, added up."""
    ranks, level = np.zeros((2, len(counted[0].ranks)), np.int32)
    for one in counted:
        ranks += one.ranks
        level += one.level
    return Before(ranks, level)
