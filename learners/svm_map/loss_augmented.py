"""Loss-augmented search: the most violated ranking, which maximises the sum of loss and score.

In that ranking relevant items stand in the order of their scores, and so do irrelevant ones:
swapping two items of one kind leaves the loss as it is and can only lower the score. So a ranking
is an interleaving of the two lists. It is stored as `above`, the number of irrelevant items above
each relevant one, which never decreases from one relevant item to the next. An irrelevant item may
stand for several: it counts as many times as its weight says, and moves as one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Floats, Longs
from learners.jit import njit

MAP, ROC = 0, 1  # 1 - average precision, and the share of misordered pairs
LOSSES = {"map": MAP, "roc": ROC}


class ScoredQueries(NamedTuple):
    """The items of queries with their scores; query q has `starts[q]` up to `starts[q + 1]`."""

    starts: Longs
    is_relevant: Bools
    scores: Floats
    weights: Floats  # how many items an irrelevant item stands for; a relevant item is one


class Violations(NamedTuple):
    """The most violated ranking of each query."""

    shares: Floats  # of each item: its factor in (features of right ranking - features of this one)
    losses: Floats  # of each query
    amounts: (
        Floats  # of each query: the loss less the lead of the right ranking's score, at least 0
    )


@njit
def total_of(weights: Floats) -> float:
    """Return the sum of the weights, added in order."""
    total = 0.0
    for weight in weights:
        total += weight
    return total


@njit
def most_violated_map(relevant: Floats, irrelevant: Floats, weights: Floats, above: Floats) -> None:
    """Move each irrelevant item up from below all relevant ones, as far as that pays.

    Scores come in descending order. If an irrelevant item with j items before it and weight 1
    passes the i-th relevant one, the precision there falls by i / (i+j) - i / (i+j+1), and the
    score falls by the difference of the two scores. An item of a greater weight moves as one; both
    amounts are per unit of its weight. No irrelevant item gains by going further up than the one
    before it (Yue et al., theorem 2). So each search ends where the item before stopped, and the
    first item that stays in place ends all searches.
    """
    above[:] = 0.0
    count, others = len(relevant), total_of(weights)
    highest = 0  # the irrelevant item before stands above relevant[highest:]
    before = 0.0
    for j in range(len(irrelevant)):
        total = best = 0.0
        place = count
        through = before + weights[j]
        for i in range(count, highest, -1):
            lost = i / ((i + before) * (i + through)) / count
            behind = 2.0 * (relevant[i - 1] - irrelevant[j]) / (float(count) * others)
            total += lost - behind
            if total > best:
                best, place = total, i - 1
        highest = place
        if highest == count:
            return
        for i in range(highest, count):
            above[i] = through
        before = through


@njit
def most_violated_roc(relevant: Floats, irrelevant: Floats, weights: Floats, above: Floats) -> None:
    """Decide pair by pair: a pair is misordered if its scores differ by less than a half."""
    j, through = 0, 0.0
    for i in range(len(relevant)):
        while j < len(irrelevant) and relevant[i] - irrelevant[j] < 0.5:
            through += weights[j]
            j += 1
        above[i] = through


@njit
def share_out(above: Floats, weights: Floats, by_relevant: Floats, by_irrelevant: Floats) -> None:
    """Write the shares of the relevant and the irrelevant items in the plane of a ranking.

    The feature map of the right ranking minus that of this ranking is the sum of all items, each
    times its share.
    """
    count = len(above)
    each = 2.0 / (float(count) * total_of(weights))
    for i in range(count):
        by_relevant[i] = each * above[i]
    by_irrelevant[:] = 0.0
    passed = 0  # relevant items that stand above the j-th irrelevant one
    before = 0.0
    for j in range(len(weights)):
        while passed < count and above[passed] <= before:
            passed += 1
        if passed == count:
            break
        by_irrelevant[j] = -each * weights[j] * (count - passed)
        before += weights[j]


@njit
def loss_of(above: Floats, others: float, loss: int) -> float:
    """Return the loss of a ranking."""
    count = len(above)
    total = 0.0
    for i in range(count):
        total += above[i] / (above[i] + i + 1.0) if loss == MAP else above[i] / others
    return total / count


@njit
def search(queries: ScoredQueries, loss: int, out: Violations) -> None:
    """Write the most violated ranking of every query to `out`."""
    starts, shares, losses = queries.starts, out.shares, out.losses
    for query in range(len(starts) - 1):
        start, stop = starts[query], starts[query + 1]
        is_relevant, scores = queries.is_relevant[start:stop], queries.scores[start:stop]
        order = np.argsort(-scores, kind="mergesort")
        relevant_in_order = is_relevant[order]
        relevant, irrelevant = order[relevant_in_order], order[~relevant_in_order]
        weights = queries.weights[start:stop][irrelevant]
        above = np.empty(len(relevant))
        if loss == MAP:
            most_violated_map(scores[relevant], scores[irrelevant], weights, above)
        else:
            most_violated_roc(scores[relevant], scores[irrelevant], weights, above)
        by_relevant, by_irrelevant = np.empty(len(relevant)), np.empty(len(irrelevant))
        share_out(above, weights, by_relevant, by_irrelevant)
        losses[query] = loss_of(above, total_of(weights), loss)
        lead = 0.0
        for i in range(len(relevant)):
            shares[start + relevant[i]] = by_relevant[i]
            lead += by_relevant[i] * scores[relevant[i]]
        for j in range(len(irrelevant)):
            shares[start + irrelevant[j]] = by_irrelevant[j]
            lead += by_irrelevant[j] * scores[irrelevant[j]]
        out.amounts[query] = max(0.0, losses[query] - lead)
