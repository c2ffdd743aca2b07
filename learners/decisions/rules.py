"""Which candidates are assigned, given their probabilities: one rule for each goal.

For the F1 over all rounds (`micro`) the best set has every topic whose probability is at least half
of the F1 that is reached; for the F1 of a topic (`macro`) the same holds with its own F1. For the
F1 of a document the candidates are taken by falling probability, as many as give the highest
expected F1. For a wanted precision or recall, the threshold is read off the recent candidates.
"""

from __future__ import annotations

from typing import NamedTuple

from learners.arrays import Bools, Floats, Ints, Longs
from learners.decisions.bounded_numbers import faded
from learners.decisions.candidates import HITS, PROBABILITIES, total
from learners.decisions.decided import CANDIDATES, Decisions
from learners.decisions.goals import F1, MACRO, MICRO, PRECISION, RECALL
from learners.jit import njit, njit_formula, njit_inline

BINS = 200  # of probabilities
CERTAINTY_BINS = 50
# What is added up with less and less weight: right topics, assigned plus relevant ones, relevant
# ones, relevant ones found, relevant topics of a document outside of its candidates. Then what was
# read off the histograms: from which probability on topics are assigned, and from which certainty
# on documents need no review; and the rounds since then.
RIGHT, SIZES, RELEVANT, FOUND, OUTSIDE, CUT, REVIEW_CUT, SINCE = range(8)
TALLIES = 8
TOPIC_RIGHT, TOPIC_SIZES = range(2)
COUNT, SUM = range(2)  # the columns of a histogram: how many, and how much in total

# By how much older rounds count less, per round.
FORGET, FORGET_FOR_MICRO, FORGET_OUTSIDE = 0.002, 0.005, 0.01
CUT_ROUNDS = 4  # rounds from one reading of the histograms to the next; one per round is no better
HISTOGRAM_KEEP = (1.0 - FORGET) ** CUT_ROUNDS
FIRST_RIGHT, FIRST_SIZES = 4.0, 10.0  # before the first round: a threshold of 0.4
TOPIC_THRESHOLD, TOPIC_ROUNDS = 0.15, 10.0  # before the first round of a topic, and its weight
FIRST_RECALL_THRESHOLD = 0.3
DOUBT = 1.0  # irrelevant candidates that are assumed beside what was seen


class RuleState(NamedTuple):
    """What the rules know of earlier rounds."""

    tally: Floats
    # Per topic, with less and less weight: how often it was rightly assigned, and assigned plus
    # relevant.
    topics: Floats
    histogram: Floats  # by probability: candidates, and relevant ones among them
    certainty: Floats  # by certainty: documents, and the sum of their F1


@njit_formula
def bin_of(value: float, bins: int) -> int:
    """The bin of a number between 0 and 1. Any other number is in the first or the last bin."""
    positive = value if value > 0.0 else 0.0
    return min(int((positive if positive < 1.0 else 1.0) * bins), bins - 1)


@njit_inline
def count_likely(likely: Floats, row: int) -> int:
    """How many candidates of a row have a probability; those behind count as not relevant."""
    count = 0
    for place in range(CANDIDATES):
        count += likely[row, place] > 0.0
    return count


@njit_inline
def mark_relevant(
    topics: Ints, row: int, count: int, labels: Ints, start: int, stop: int, hits: Floats
) -> None:
    """Write 1 for those of the first `count` candidates of a row among `labels[start:stop]`."""
    for place in range(CANDIDATES):
        hits[place] = 0.0
    for i in range(start, stop):
        label = labels[i]
        for place in range(count):
            hits[place] = 1.0 if topics[row, place] == label else hits[place]


@njit_inline
def counts_candidates(rule: int) -> bool:
    """Whether a rule needs the histogram of probabilities."""
    return rule in (PRECISION, RECALL)


@njit
def cut_for_mean(histogram: Floats, wanted: float) -> float:
    """The lowest number from which on the mean is as high as wanted; 1 if it is nowhere."""
    count = total = 0.0
    bins = best = len(histogram)
    for i in range(bins - 1, -1, -1):
        count += histogram[i, COUNT]
        total += histogram[i, SUM]
        if count > 0.0 and total >= wanted * (count + DOUBT):
            best = i
    return best / bins


@njit
def cut_for_sum(histogram: Floats, wanted: float) -> float:
    """The highest number from which on the sum is as high as wanted; 0 if it is nowhere."""
    total = 0.0
    best = BINS
    while best > 0 and total < wanted:
        best -= 1
        total += histogram[best, SUM]
    return best / BINS


def first_cut(rule: int) -> float:
    """The probability from which on topics are assigned before a histogram is read."""
    return FIRST_RECALL_THRESHOLD if rule == RECALL else 1.0


@njit
def read_histograms(rule: int, level: float, risk: float, state: RuleState) -> None:
    """Find the cuts of the rules that need a histogram, and let the histograms fade."""
    tally, histogram, by_certainty = state.tally, state.histogram, state.certainty
    if rule == PRECISION:
        tally[CUT] = cut_for_mean(histogram, level)
    elif rule == RECALL and tally[RELEVANT] > 0.0:
        # What earlier thresholds missed is made up for.
        wanted = level + (level - tally[FOUND] / tally[RELEVANT])
        tally[CUT] = cut_for_sum(histogram, wanted * tally[RELEVANT])
    if counts_candidates(rule):
        fade(histogram, HISTOGRAM_KEEP)
    if risk > 0.0:
        tally[REVIEW_CUT] = cut_for_mean(by_certainty, 1.0 - risk)
        fade(by_certainty, HISTOGRAM_KEEP)


@njit_inline
def assign(
    rule: int, state: RuleState, topics: Ints, row: int, count: int, table: Floats,
    assigned: Bools, order: Longs,
) -> None:  # fmt: skip
    """Write which of the first `count` candidates of a row are assigned. `order` is room."""
    if rule == F1:
        assign_by_expected_f1(count, state.tally[OUTSIDE], table, row, assigned, order)
        return
    tally, by_topic = state.tally, state.topics
    cut = tally[RIGHT] / tally[SIZES] if rule == MICRO else tally[CUT]
    for place in range(count):
        if rule == MACRO:
            topic = topics[row, place]
            known = by_topic[topic, TOPIC_RIGHT] + TOPIC_ROUNDS * TOPIC_THRESHOLD
            cut = known / (by_topic[topic, TOPIC_SIZES] + TOPIC_ROUNDS)
        assigned[row, place] = table[PROBABILITIES, place] >= cut


@njit_inline
def assign_by_expected_f1(
    count: int, outside: float, table: Floats, row: int, assigned: Bools, order: Longs
) -> None:
    """Assign to a row the most likely candidates, as many as give the highest expected F1.

    The expectation of the quotient is taken as the quotient of the expectations.
    """
    for i in range(count):
        at, likely = i, table[PROBABILITIES, i]
        while at > 0 and likely > table[PROBABILITIES, order[at - 1]]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = i
    relevant = outside + total(table, PROBABILITIES)
    right = best = 0.0
    taken = 0
    for i in range(count):
        right += table[PROBABILITIES, order[i]]
        expected = 2.0 * right / (i + 1 + relevant)
        if expected > best:
            best, taken = expected, i + 1
    for i in range(count):
        assigned[row, order[i]] = i < taken


@njit_inline
def certainty_of(count: int, outside: float, table: Floats, row: int, assigned: Bools) -> float:
    """The expected F1 of the set of a row; of an empty one, how likely no candidate is relevant.

    Without candidates nothing is certain: no topic is known yet.
    """
    if count == 0:
        return 0.0
    right, size, none = 0.0, 0, 1.0
    for place in range(count):
        right += table[PROBABILITIES, place] if assigned[row, place] else 0.0
        size += assigned[row, place]
    if size > 0:
        return min(2.0 * right / (size + (outside + total(table, PROBABILITIES))), 1.0)
    for place in range(count):
        none *= 1.0 - table[PROBABILITIES, place]
    return none


@njit_inline
def needs_review(certainty: float, risk: float, state: RuleState) -> bool:
    """Whether documents as uncertain as this one bring the mean F1 below 1 - risk."""
    cut = state.tally[REVIEW_CUT]
    return bool(risk > 0.0 and (certainty < cut or cut == 1.0))


@njit_inline
def f1_of(right: float, size: float, relevant: float) -> float:
    """The F1 of a set; 1 if nothing is assigned and nothing is relevant."""
    return 2.0 * right / (size + relevant) if size + relevant > 0.0 else 1.0


@njit_inline
def learn_rules(
    rule: int, level: float, risk: float, state: RuleState, made: Decisions, row: int, count: int,
    table: Floats, labels: Ints, start: int, stop: int,
) -> None:  # fmt: skip
    """Add a round: what was emitted for a row, and its topics, which are `labels[start:stop]`.

    The table has the probabilities of its first `count` candidates by the present weights. If the
    label is late, those that were emitted say little about the thresholds of today. Histograms are
    kept only for a rule and a risk that need them.
    """
    tally, by_topic, histogram, by_certainty = state
    topics, assigned = made.topics, made.assigned
    keep = 1.0 - (FORGET_FOR_MICRO if rule == MICRO else FORGET)
    right = size = found = 0.0
    for place in range(count):
        hit = table[HITS, place]
        found += hit
        if counts_candidates(rule):
            at = bin_of(table[PROBABILITIES, place], BINS)
            histogram[at, COUNT] += 1.0
            histogram[at, SUM] += hit
        if assigned[row, place]:
            right += hit
            size += 1.0
            count_topic(by_topic, topics[row, place], hit)
    for i in range(start, stop):
        count_topic(by_topic, labels[i], 0.0)
    relevant = float(stop - start)
    if size + relevant > 0.0:  # a round without any topic says nothing about sets
        for i in range(OUTSIDE):
            tally[i] = faded(tally[i], keep)
    tally[RIGHT] += right
    tally[SIZES] += size + relevant
    tally[RELEVANT] += relevant
    tally[FOUND] += right
    tally[OUTSIDE] += FORGET_OUTSIDE * ((relevant - found) - tally[OUTSIDE])
    if risk > 0.0:
        at = bin_of(made.certainty[row], CERTAINTY_BINS)
        by_certainty[at, COUNT] += 1.0
        by_certainty[at, SUM] += f1_of(right, size, relevant)
    tally[SINCE] += 1.0
    if tally[SINCE] >= CUT_ROUNDS:
        tally[SINCE] = 0.0
        read_histograms(rule, level, risk, state)


@njit_inline
def count_topic(by_topic: Floats, topic: int, right: float) -> None:
    """Count that a topic was assigned, rightly or not, or that it was relevant.

    What is known of a topic fades with each count of this topic. So a rare topic is remembered for
    more rounds than a frequent one.
    """
    keep = 1.0 - FORGET
    by_topic[topic, TOPIC_RIGHT] = faded(by_topic[topic, TOPIC_RIGHT], keep) + right
    by_topic[topic, TOPIC_SIZES] = by_topic[topic, TOPIC_SIZES] * keep + 1.0


@njit_inline
def fade(histogram: Floats, keep: float) -> None:
    """Let everything in a histogram count less."""
    for i in range(len(histogram)):
        histogram[i, COUNT] = faded(histogram[i, COUNT], keep)
        histogram[i, SUM] = faded(histogram[i, SUM], keep)
