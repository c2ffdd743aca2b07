"""The most violated ranking: the one whose loss and score together are the highest.

Relevant items stay in the order of their scores, and so do irrelevant ones, since swapping two of
a kind changes no loss and can only lower the score. So a ranking is an interleaving of the two,
said by how many irrelevant items stand above each relevant one: `above`, which never falls from
one relevant item to the next.
"""

from __future__ import annotations

import numpy as np

from learners.arrays import Bools, Floats, Longs
from learners.jit import njit

MAP, ROC = 0, 1  # 1 - average precision, and the share of wrong pairs
LOSSES = {"map": MAP, "roc": ROC}


@njit
def most_violated_map(relevant: Floats, irrelevant: Floats, above: Longs) -> None:
    """Slide each irrelevant item up from below all relevant ones as far as it pays.

    Scores are given in falling order. Passing the i-th relevant item, the j-th irrelevant one takes
    i / (i+j-1) - i / (i+j) from its precision, and from the score what it is behind. No item can
    gain by passing what the one before it did not (Yue et al., theorem 2), so each looks no further
    than that one went, and the first that stays where it is ends the search.
    """
    above[:] = 0
    count, others = len(relevant), len(irrelevant)
    highest = 0  # how far up the item before went: it stands above relevant[highest:]
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
    """Pairs are independent: one is wrong if its items are less than a half apart."""
    others = len(irrelevant)
    j = 0
    for i in range(len(relevant)):
        while j < others and relevant[i] - irrelevant[j] < 0.5:
            j += 1
        above[i] = j


@njit
def share_out(above: Longs, others: int, by_relevant: Floats, by_irrelevant: Floats) -> None:
    """How often each item counts in the difference of the right ranking and this one.

    The difference of their feature maps is the sum of the items times their shares.
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
    """The loss of a ranking."""
    count = len(above)
    total = 0.0
    for i in range(count):
        total += above[i] / (above[i] + i + 1.0) if loss == MAP else above[i] / others
    return total / count


@njit
def search(
    starts: Longs, is_relevant: Bools, scores: Floats, loss: int, shares: Floats, losses: Floats,
    slacks: Floats,
) -> None:  # fmt: skip
    """Find the most violated ranking of every query.

    Writes its loss, the shares of the items in its plane, and by how much it is violated: the loss
    less what the right ranking's score is ahead.
    """
    for query in range(len(starts) - 1):
        start, stop = starts[query], starts[query + 1]
        mine, given = is_relevant[start:stop], scores[start:stop]
        order = np.argsort(-given, kind="mergesort")
        kinds = mine[order]
        first, second = order[kinds], order[~kinds]
        above = np.empty(len(first), np.int64)
        if loss == MAP:
            most_violated_map(given[first], given[second], above)
        else:
            most_violated_roc(given[first], given[second], above)
        by_first, by_second = np.empty(len(first)), np.empty(len(second))
        share_out(above, len(second), by_first, by_second)
        losses[query] = loss_of(above, len(second), loss)
        ahead = 0.0
        for i in range(len(first)):
            shares[start + first[i]] = by_first[i]
            ahead += by_first[i] * given[first[i]]
        for j in range(len(second)):
            shares[start + second[j]] = by_second[j]
            ahead += by_second[j] * given[second[j]]
        slacks[query] = max(0.0, losses[query] - ahead)
