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

from learners.arrays import Floats, Ints
from learners.jit import njit
from learners.scores import UNRANKED, Places, best_of_all, sort_few
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


def find(own: Floats, steps: Steps, top: int, part: TopicSlice) -> Found:
    """The best topics and the relevant scores of one shard. `top` 0 stands for all topics."""
    known = steps.known[~steps.learn]
    width = part.count(int(known.max(initial=0)))
    width = min(width, top) if top else width
    order, values = np.full((len(known), width), -1, np.int32), np.zeros((len(known), width))
    best_of_all(own[ranked_rows(steps)], part.counts(known), order, values)
    order[order >= 0] = order[order >= 0] * part.shards + part.shard
    own_steps = part.steps(steps)
    rows = np.repeat(own_steps.row, np.diff(own_steps.label_starts))
    return Found(order, values, own[rows, own_steps.labels])


def ranked_rows(steps: Steps) -> slice | Ints:
    """The rows that the steps rank; in general they follow one another, and need no copy."""
    rows = steps.row[~steps.learn]
    if len(rows) and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


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


def best_of_shards(found: Sequence[Found], known: Ints) -> tuple[Ints, Floats]:
    """The best topics of all shards; as many places as all lists are long enough for."""
    shards, places = len(found), int(known.max(initial=0))
    width = places
    for shard, one in enumerate(found):
        sent = one.order.shape[1]
        if sent < owned(places, shard, shards):
            width = min(width, sent)
    longest = max(one.order.shape[1] for one in found)
    orders = np.full((shards, len(known), longest), -1, np.int32)
    values = np.zeros((shards, len(known), longest))
    for shard, one in enumerate(found):
        orders[shard, :, : one.order.shape[1]] = one.order
        values[shard, :, : one.order.shape[1]] = one.values
    order, merged = np.full((len(known), width), -1, np.int32), np.zeros((len(known), width))
    merge_best(orders, values, order, merged)
    return order, merged


def label_scores(found: Sequence[Found], steps: Steps) -> Floats:
    """The scores of all relevant topics, in the order of the steps."""
    labels = steps.labels[steps.label_starts[0] : steps.label_starts[-1]]
    scores, owners = np.empty(len(labels)), labels % len(found)
    for shard, one in enumerate(found):
        scores[owners == shard] = one.labels
    return scores


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
def place_labels(steps: Steps, scores: Floats, before: Before, places: Places) -> None:
    """Turn the counts of all shards into the places of the labels."""
    step_learn, step_ranked = steps.learn, steps.ranked
    label_starts, labels = steps.label_starts, steps.labels
    ranks, above, hits = places
    first = label_starts[0]
    for step in range(len(step_learn)):
        start, stop = label_starts[step] - first, label_starts[step + 1] - first
        if not step_learn[step] or start == stop:
            continue
        relevant = labels_of(label_starts, labels, step)
        for i in range(start, stop):
            level = before.level[i]
            for other in scores[start:stop]:
                level -= other >= scores[i]
            is_ranked = relevant[i - start] < step_ranked[step]
            ranks[i] = 1 + before.ranks[i] if is_ranked else UNRANKED
            above[i] = level
        sort_few(ranks[start:stop])
        if ranks[start] != UNRANKED:
            hits[step] = ranks[start]


def total(counted: Sequence[Before]) -> Before:
    """The counts of all shards, added up."""
    ranks, level = np.zeros((2, len(counted[0].ranks)), np.int32)
    for one in counted:
        ranks += one.ranks
        level += one.level
    return Before(ranks, level)
