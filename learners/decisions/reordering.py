"""Put the first topics of a ranking in order of their probabilities.

Scores of one topic are not made to be compared with those of another. Probabilities are, and they
know which topics go together. So the first topic is more often right. Each topic keeps its score.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.decisions.bounded_numbers import LEAST
from learners.decisions.decided import Decisions
from learners.jit import njit, njit_inline
from learners.scores import Places, sort_few
from learners.segment import Steps

STEP = 2.0**-52  # in units of a number: to the next one
HEAD = 10  # this many topics change places with each other, and none with a topic behind them


@njit_inline
def order_head(made: Decisions, row: int, only_retrieved: bool, order: Longs) -> int:
    """Write the places of the first topics of a row in their new order; return their number.

    Equally likely topics stay in their order. With `only_retrieved`, topics with the score 0 stay
    behind the others.
    """
    count = 0
    while (
        count < HEAD
        and made.topics[row, count] >= 0
        and not (only_retrieved and made.scores[row, count] == 0.0)
    ):
        at, likely = count, made.probabilities[row, count]
        while at > 0 and likely > made.probabilities[row, order[at - 1]]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = count
        count += 1
    return count


@njit
def permute(
    made: Decisions, only_retrieved: bool, topics: Ints, scores: Floats, likely: Floats,
    assigned: Bools,
) -> None:  # fmt: skip
    """Write candidates in their new order; the arrays are copies of those in `made`."""
    order = np.zeros(HEAD, np.int64)
    for row in range(len(topics)):
        count = order_head(made, row, only_retrieved, order)
        for place in range(count):
            former = order[place]
            topics[row, place] = made.topics[row, former]
            scores[row, place] = made.scores[row, former]
            likely[row, place] = made.probabilities[row, former]
            assigned[row, place] = made.assigned[row, former]


@njit
def reorder_places(steps: Steps, made: Decisions, only_retrieved: bool, places: Places) -> None:
    """Correct the places of labels, found by scores, for the new order of the first topics.

    Of two of the first topics, the more likely one is above the other; if they are equally likely,
    their scores decide. A topic that became known since the ranking keeps its place, which is that
    of the score 0. All other pairs of topics are as before.
    """
    step_row, step_learn, step_known = steps.row, steps.learn, steps.known
    label_starts, labels = steps.label_starts, steps.labels
    ranks, above, hits = places
    topics, scores, likely = made.topics, made.scores, made.probabilities
    order, place_of = np.zeros(HEAD, np.int64), np.zeros(HEAD, np.int64)
    label_at = np.zeros(HEAD, np.int64)  # which label a topic is; -1: it is irrelevant
    rank_at = np.zeros(HEAD, np.int64)  # where the former rank of a relevant topic stands
    first = label_starts[0]
    for step in range(len(step_row)):
        start, stop = label_starts[step] - first, label_starts[step + 1] - first
        row = step_row[step]
        if not step_learn[step] or start == stop:
            continue
        count = order_head(made, row, only_retrieved, order)
        if count == 0:
            continue
        new = step_known[step] - made.known[row]
        new_labels = 0
        label_at[:], rank_at[:] = -1, -1
        for i in range(start, stop):
            label = labels[first + i]
            new_labels += label >= made.known[row]
            for place in range(count):
                if topics[row, place] == label:
                    label_at[place] = i
        for place in range(count):
            place_of[order[place]] = place
            if label_at[place] < 0:
                continue
            rank = 1 + place + new * (scores[row, place] < 0.0)
            for i in range(start, stop):
                if ranks[i] == rank:
                    rank_at[place] = i
        for place in range(count):
            label = label_at[place]
            if label < 0 or rank_at[place] < 0:
                continue
            score, probability = scores[row, place], likely[row, place]
            beside = scores[row, place_of[place]]  # the score that stands at its new place
            ranks[rank_at[place]] = 1 + place_of[place] + new * (beside < 0.0)
            above[label] += (new - new_labels) * (int(beside <= 0.0) - int(score <= 0.0))
            for other in range(count):
                if label_at[other] >= 0:
                    continue
                as_high = scores[row, other] >= score
                equal = likely[row, other] == probability
                above[label] += int(likely[row, other] > probability or (equal and as_high))
                above[label] -= int(as_high)
        for other in range(count):
            if label_at[other] >= 0 or new_labels == 0:
                continue
            beside = scores[row, place_of[other]]
            change = int(beside >= 0.0) - int(scores[row, other] >= 0.0)
            for i in range(start, stop):
                above[i] += change * (labels[first + i] >= made.known[row])
        irrelevant = step_known[step] - (stop - start)
        for i in range(start, stop):  # a forged snapshot could have scores that never were
            above[i] = min(max(above[i], 0), irrelevant)
        sort_few(ranks[start:stop])
        if hits[step] > 0:
            hits[step] = ranks[start]


@njit
def permute_scores(made: Decisions, only_retrieved: bool, table: Floats) -> None:
    """Give the first topics of each row each other's scores, so that scores tell the new order.

    Where the order changes, equal scores are made different.
    """
    order = np.zeros(HEAD, np.int64)
    for row in range(len(made.topics)):
        count = order_head(made, row, only_retrieved, order)
        is_changed = False
        for place in range(count):
            is_changed |= order[place] != place
        if not is_changed:
            continue
        behind = made.scores[row, count] if made.topics[row, count] >= 0 else -np.inf
        for place in range(count - 1, -1, -1):
            score = made.scores[row, place]
            behind = score if score > behind else behind + max(abs(behind) * STEP, LEAST)
            table[row, made.topics[row, order[place]]] = behind


def by_probability(made: Decisions, only_retrieved: bool) -> Decisions:
    """The decisions with candidates in the order of the ranking, not in that of their scores."""
    topics, scores = made.topics.copy(), made.scores.copy()
    likely, assigned = made.probabilities.copy(), made.assigned.copy()
    permute(made, only_retrieved, topics, scores, likely, assigned)
    return Decisions(topics, scores, likely, assigned, made.certainty, made.review, made.known)


def head_by_probability(made: Decisions, row: int, only_retrieved: bool) -> Ints:
    """The first topics of a row, as many as may change places, in the order of the ranking."""
    order = np.zeros(HEAD, np.int64)
    count = order_head(made, row, only_retrieved, order)
    head: Ints = made.topics[row][order[:count]]
    return head
