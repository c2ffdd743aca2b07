"""The best topics of rows of scores, in compiled code.

Most topics are far from the best ones. So the first thing is to find a bar that only a few more
topics reach than are wanted. The search begins with the bar of the row before and goes up or down.
Counting the scores that reach a bar is much faster than comparing each score with the best so far:
the processor counts several at once, and there is no branch to predict. The place of a topic that
reaches the bar is found by counting, too: it is the number of higher scores. The result does not
depend on the bar.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.jit import njit, njit_inline

NEAR = 32  # topics whose places are counted; this many take no longer than a few
LEAST_SPARE = 4  # how many more topics than wanted may reach the bar, at least
MOST_BARS = 10  # tried per row; with many equal scores there may be no good one


@njit_inline
def find_bar(
    scores: Floats, row: int, known: int, least: int, most: int, bar: float, step: float
) -> float:
    """Return a bar that at least `least` scores of a row reach, and at most `most` if found soon.

    The first bar that is tried is `bar`, and the next one is a `step` away.
    """
    low, high = -np.inf, np.inf
    for _ in range(MOST_BARS):
        count = 0
        for topic in range(known):
            count += scores[row, topic] >= bar
        if count >= least:
            low = bar
            if count <= most:
                break
        else:
            high = bar
        if low > -np.inf and high < np.inf:
            bar = 0.5 * (low + high)
        else:
            bar += step if high == np.inf else -step
            step *= 2.0
    return low


@njit_inline
def place_by_counting(
    near: Longs, count: int, high: Floats, places: Longs, row: int, order: Ints, values: Floats
) -> None:
    """Write the best of `count` topics, which are in order of their index, to a row.

    `high` has their scores, and the lowest possible score behind them. `places` is room.
    """
    total = 0
    for i in range(count):
        score = high[i]
        place = 0
        for k in range(NEAR):
            place += high[k] > score
        places[i] = place
        total += place
    if 2 * total != count * (count - 1):  # some scores are equal
        for i in range(count):
            score = high[i]
            for k in range(i):
                places[i] += high[k] == score
    for i in range(count):
        if places[i] < order.shape[1]:
            order[row, places[i]], values[row, places[i]] = near[i], high[i]


@njit_inline
def place_by_insertion(
    near: Longs, count: int, scores: Floats, row: int, order: Ints, values: Floats
) -> None:
    """Write the best of `count` topics, which are in order of their index, to a row."""
    top = order.shape[1]
    filled, last = 0, 0.0  # `last` is the score in the last place, once all are filled
    for i in range(count):
        topic = near[i]
        score = scores[row, topic]
        if filled == top and score <= last:
            continue
        place = min(filled, top - 1)
        # Only a better score passes an earlier topic, so equal scores stay in order.
        while place > 0 and score > values[row, place - 1]:
            order[row, place], values[row, place] = order[row, place - 1], values[row, place - 1]
            place -= 1
        order[row, place], values[row, place] = topic, score
        filled = min(filled + 1, top)
        last = values[row, top - 1]


@njit
def best_of_all(scores: Floats, known: Ints, order: Ints, values: Floats) -> None:
    """For each row the topics by falling score, ties by index, as many as `order` has room for."""
    top = order.shape[1]
    near = np.empty(scores.shape[1] + 1, np.int64)
    high, places = np.empty(NEAR), np.empty(NEAR, np.int64)
    most = max(NEAR, top + LEAST_SPARE)
    bar, step = 0.0, 1.0
    for row in range(len(known) if top > 0 else 0):
        topics, count = known[row], 0
        if topics > most:
            bar = find_bar(scores, row, topics, top, most, bar, step)
            for topic in range(topics):
                near[count] = topic
                count += scores[row, topic] >= bar
        else:
            for topic in range(topics):
                near[topic] = topic
            count = topics
        if count <= NEAR:
            for i in range(NEAR):
                high[i] = -np.inf
            for i in range(count):
                high[i] = scores[row, near[i]]
            place_by_counting(near, count, high, places, row, order, values)
        else:
            place_by_insertion(near, count, scores, row, order, values)
        if topics > most:
            bar = values[row, top - 1]
            step = (values[row, 0] - bar) / top
