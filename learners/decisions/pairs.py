"""Which topics go together: what a likely topic says about the others of the same document.

Each topic learns its score alone, so a ranking does not know that two topics often occur together,
or never. Every ordered pair of topics has a weight. What the likely candidates of a document say
about a topic is the sum of their probabilities, each times the weight of the pair. The calibration
learns how much that sum is worth: next to nothing where topics are independent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from learners.arrays import Floats, Ints, Longs
from learners.decisions.bounded_numbers import limited, logistic
from learners.jit import njit_inline

MOST_PAIRS = 1 << 16  # of more than 256 topics, some pairs share a weight
# Variance of a weight before anything is learned, and by how much it grows whenever the pair
# occurs, in units of itself.
PAIR_PRIOR, PAIR_NOISE = 0.2, 3e-5
LIKELY = 0.3  # candidates from this probability on say something about the others
LIKELY_LOGIT = math.log(LIKELY / (1.0 - LIKELY))
MOST_PAIR_WEIGHT = 1e6
WEIGHT, KNOWN = range(2)  # of a pair: by how much the variance of the weight is below the prior
PAIR_COLUMNS = 2


class Partners(NamedTuple):
    """The likely candidates of one document."""

    places: Longs  # -1 follows the last one
    shares: Floats  # their probabilities, as far as they are known without the others
    slots: Longs  # candidates x likely candidates: where their pairs are; -1: it is no pair


def pair_count(topics: int) -> int:
    """The number of weights for this many topics."""
    return min(topics * topics, MOST_PAIRS)


@njit_inline
def slot_of(topic: int, other: int) -> int:
    """Where the numbers of a pair begin. They stay there when topics are added.

    The pairs of the first n topics are the first n x n ones.
    """
    pair = topic * topic + other if topic > other else other * other + other + topic
    return PAIR_COLUMNS * (pair & (MOST_PAIRS - 1))


@njit_inline
def find_partners(logits: Floats, count: int, partners: Partners) -> None:
    """Find the likely ones among the first `count` candidates."""
    found = 0
    for place in range(count):
        if logits[place] >= LIKELY_LOGIT:
            partners.places[found] = place
            partners.shares[found] = logistic(logits[place])
            found += 1
    partners.places[found] = -1


@njit_inline
def sum_of_pairs(topics: Ints, row: int, place: int, pairs: Floats, partners: Partners) -> float:
    """What the likely candidates of a row say about the candidate at a place."""
    places, shares, slots = partners
    topic = topics[row, place]
    total, i = 0.0, 0
    while places[i] >= 0:
        if places[i] == place:
            slots[place, i] = -1
        else:
            slot = slot_of(topic, topics[row, places[i]])
            slots[place, i] = slot
            total += pairs[slot + WEIGHT] * shares[i]
        i += 1
    return total


@njit_inline
def learn_pairs(place: int, off: float, steep: float, pairs: Floats, partners: Partners) -> None:
    """Learn from the candidate at a place, whose probability was too low by `off`.

    `steep` is the slope of the logistic curve there. The sum of its pairs was taken before.
    """
    places, shares, slots = partners
    spread, i = 0.0, 0
    while places[i] >= 0:
        slot = slots[place, i]
        if slot >= 0:
            spread += (PAIR_PRIOR - pairs[slot + KNOWN]) * (shares[i] * shares[i])
        i += 1
    shrink = 1.0 / (1.0 + steep * spread)
    less, i = steep * shrink, 0
    while places[i] >= 0:
        slot, share = slots[place, i], shares[i]
        if slot >= 0:
            variance = PAIR_PRIOR - pairs[slot + KNOWN]
            weight = pairs[slot + WEIGHT] + ((variance * share) * off) * shrink
            pairs[slot + WEIGHT] = limited(weight, MOST_PAIR_WEIGHT)
            variance *= 1.0 - (variance * (share * share)) * less
            variance += PAIR_NOISE * PAIR_PRIOR
            pairs[slot + KNOWN] = max(PAIR_PRIOR - variance, 0.0)
        i += 1
