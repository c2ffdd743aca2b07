"""The best topics of rows of scores, in compiled code.

Most topics are far from the best ones. So the first thing is to find a bar that only a few more
topics reach than are wanted. The search begins with the bar of the row before and goes up or down.
Counting the scores that reach a bar is much faster than comparing each score with the best so far:
the processor counts several at once, and there is no branch to predict. The result does not depend
on the bar.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats, Ints
from learners.jit import njit, njit_inline

SPARE = 6  # how many more topics than wanted may reach the bar
MOST_BARS = 10  # tried per row; with many equal scores there may be no good one
FEW = 2  # a bar is looked for only if there are more than this many times the wanted topics


@njit_inline
def find_bar(scores: Floats, row: int, known: int, top: int, bar: float, step: float) -> float:
    """Return a bar that at least `top` scores of a row reach, and few others if found soon."""
    low, high = -np.inf, np.inf
    for _ in range(MOST_BARS):
        count = 0
        for topic in range(known):
            count += scores[row, topic] >= bar
        if count >= top:
            low = bar
            if count <= top + SPARE:
                break
        else:
            high = bar
        if low > -np.inf and high < np.inf:
            bar = 0.5 * (low + high)
        else:
            bar += step if high == np.inf else -step
            step *= 2.0
    return low


@njit
def best_of_all(scores: Floats, known: Ints, order: Ints, values: Floats) -> None:
    """For each row the topics by falling score, ties by index, as many as `order` has room for."""
    top = order.shape[1]
    near = np.empty(scores.shape[1] + 1, np.int64)
    bar, step = 0.0, 1.0
    for row in range(len(known) if top > 0 else 0):
        count = known[row]
        is_searched = count > FEW * top
        if is_searched:
            bar = find_bar(scores, row, count, top, bar, step)
            count = 0
            for topic in range(known[row]):
                near[count] = topic
                count += scores[row, topic] >= bar
        filled, last = 0, 0.0  # `last` is the score in the last place, once all are filled
        for i in range(count):
            topic = near[i] if is_searched else i
            score = scores[row, topic]
            if filled == top and score <= last:
                continue
            place = min(filled, top - 1)
            # Only a better score passes an earlier topic, so equal scores stay in order.
            while place > 0 and score > values[row, place - 1]:
                order[row, place], values[row, place] = (
                    order[row, place - 1],
                    values[row, place - 1],
                )
                place -= 1
            order[row, place], values[row, place] = topic, score
            filled = min(filled + 1, top)
            last = values[row, top - 1]
        if is_searched:
            bar, step = last, (values[row, 0] - last) / top
