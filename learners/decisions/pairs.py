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
from learners.decisions.bounded_numbers import limited
from learners.decisions.candidates import ERRORS, LOGITS, PAIR_SUMS, SHARES, SHRINKS, STEEPS
from learners.decisions.decided import CANDIDATES
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

    found: Longs  # how many there are: one number
    places: Longs
    slots: Longs  # likely candidates x candidates: where their pairs are


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
def add_pairs(
    topics: Ints, row: int, count: int, pairs: Floats, table: Floats, partners: Partners
) -> None:
    """Write what the likely ones among the first `count` candidates of a row say about each."""
    places, slots = partners.places, partners.slots
    for place in range(CANDIDATES):
        table[PAIR_SUMS, place] = 0.0
    found = 0
    for other in range(count):
        places[found] = other
        found += table[LOGITS, other] >= LIKELY_LOGIT
    partners.found[0] = found
    for i in range(found):
        other = places[i]
        share, partner = table[SHARES, other], topics[row, other]
        for place in range(count):
            slot = slot_of(topics[row, place], partner)
            slots[i, place] = slot
            table[PAIR_SUMS, place] += pairs[slot + WEIGHT] * share if place != other else 0.0


@njit_inline
def learn_pairs(count: int, pairs: Floats, table: Floats, partners: Partners) -> None:
    """Learn from the first `count` candidates. The sums of their pairs were taken before."""
    places, slots = partners.places, partners.slots
    for place in range(CANDIDATES):
        table[SHRINKS, place] = 0.0
    for i in range(partners.found[0]):
        other = places[i]
        square = table[SHARES, other] * table[SHARES, other]
        for place in range(count):
            variance = PAIR_PRIOR - pairs[slots[i, place] + KNOWN]
            table[SHRINKS, place] += variance * square if place != other else 0.0
    for place in range(CANDIDATES):
        table[SHRINKS, place] = 1.0 / (1.0 + table[STEEPS, place] * table[SHRINKS, place])
    for i in range(partners.found[0]):
        other = places[i]
        share = table[SHARES, other]
        for place in range(count):
            if place == other:
                continue
            slot, shrink = slots[i, place], table[SHRINKS, place]
            variance = PAIR_PRIOR - pairs[slot + KNOWN]
            weight = pairs[slot + WEIGHT] + ((variance * share) * table[ERRORS, place]) * shrink
            pairs[slot + WEIGHT] = limited(weight, MOST_PAIR_WEIGHT)
            variance *= 1.0 - (variance * (share * share)) * (table[STEEPS, place] * shrink)
            variance += PAIR_NOISE * PAIR_PRIOR
            pairs[slot + KNOWN] = max(PAIR_PRIOR - variance, 0.0)
