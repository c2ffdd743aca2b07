"""Loss-augmented search: the most violated ranking, which maximises the sum of loss and score.

In that ranking relevant items stand in the order of their scores, and so do irrelevant ones:
swapping two items of one kind leaves the loss as it is and can only lower the score. So a ranking
is an interleaving of the two lists. It is stored as `above`, the number of irrelevant items above
each relevant one, which never decreases from one relevant item to the next.
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


class Violations(NamedTuple):
    """The most violated ranking of each query."""

    shares: Floats  # of each item: its factor in (features of right ranking - features of this one)
    losses: Floats  # of each query
    amounts: (
        Floats  # of each query: the loss less the lead of the right ranking's score, at least 0
    )


@njit
def most_violated_map(relevant: Floats, irrelevant: Floats, above: Longs) -> None:
    """Move each irrelevant item up from below all relevant ones, as far as that pays.

    Scores come in descending order. When the j-th irrelevant item passes the i-th relevant one, the
    precision there falls by i / (i+j-1) - i / (i+j), and the score falls by the difference of the
    two scores. No irrelevant item gains by going further up than the one before it (Yue et al.,
    theorem 2). So each search ends where the item before stopped, and the first item that stays in
    place ends all searches.
    """
    above[:] = 0
    count, others = len(relevant), len(irrelevant)
    highest = 0  # the irrelevant item before stands above relevant[highest:]
    for j in range(1, others + 1):
        total = best = 0.0
        place = count
        for i in range(count, highest, -1):
            lost = i / (float(i + j - 1) * float(i + j)) / count
            behind = 2.0 * (relevant[i - 1] - irrelevant[j - 1]) / (float(count) * others)
            total += lost - behind
            if total > best:
                best, place = total, i - 1
        highest = place
        if highest == count:
            return
        for i in range(highest, count):
            above[i] = j


@njit
def most_violated_roc(relevant: Floats, irrelevant: Floats, above: Longs) -> None:
    """Decide pair by pair: a pair is misordered if its scores differ by less than a half."""
    others = len(irrelevant)
    j = 0
    for i in range(len(relevant)):
        while j < others and relevant[i] - irrelevant[j] < 0.5:
            j += 1
        above[i] = j


@njit
def share_out(above: Longs, others: int, by_relevant: Floats, by_irrelevant: Floats) -> None:
    """Write the shares of the relevant and the irrelevant items in the plane of a ranking.

    The feature map of the right ranking minus that of this ranking is the sum of all items, each
    times its share.
    """
    count = len(above)
    each = 2.0 / (float(count) * others)
    for i in range(count):
        by_relevant[i] = each * above[i]
    by_irrelevant[:] = 0.0
    passed = 0  # relevant items that stand above the j-th irrelevant one
    for j in range(others):
        while passed < count and above[passed] <= j:
            passed += 1
        if passed == count:
            break
        by_irrelevant[j] = -each * (count - passed)


@njit
def loss_of(above: Longs, others: int, loss: int) -> float:
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
        above = np.empty(len(relevant), np.int64)
        if loss == MAP:
            most_violated_map(scores[relevant], scores[irrelevant], above)
        else:
            most_violated_roc(scores[relevant], scores[irrelevant], above)
        by_relevant, by_irrelevant = np.empty(len(relevant)), np.empty(len(irrelevant))
        share_out(above, len(irrelevant), by_relevant, by_irrelevant)
        losses[query] = loss_of(above, len(irrelevant), loss)
        lead = 0.0
        for i in range(len(relevant)):
            shares[start + relevant[i]] = by_relevant[i]
            lead += by_relevant[i] * scores[relevant[i]]
        for j in range(len(irrelevant)):
            shares[start + irrelevant[j]] = by_irrelevant[j]
            lead += by_irrelevant[j] * scores[irrelevant[j]]
        out.amounts[query] = max(0.0, losses[query] - lead)
