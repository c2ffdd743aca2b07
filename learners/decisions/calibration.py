"""How likely a topic near the top of a ranking is relevant: logistic regression, learned online.

A lane's scores have no unit: they grow, and those of two learners cannot be compared. So a topic is
described by its score in relation to recent scores, to the best one and to the document. Each topic
also has an intercept and a slope of its own, and likely topics say something about the others.
Every few labelled rounds there is a Newton step: gradients are divided by the curvature of all
rounds, of which older ones count less. So the weights settle fast, and follow changes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from learners.arrays import Floats, Ints
from learners.decisions.bounded_numbers import faded, limited, logistic
from learners.decisions.candidates import (
    ERRORS,
    HITS,
    INTERCEPTS,
    INTERCEPTS_KNOWN,
    LOGITS,
    PAIR_SUMS,
    PROBABILITIES,
    PRODUCTS,
    RAW_SCORES,
    SCORES,
    SHARES,
    SLOPES,
    SLOPES_KNOWN,
    STEEPS,
    total,
)
from learners.decisions.decided import CANDIDATES
from learners.decisions.features import (
    BELOW_BEST,
    CONSTANT,
    FEATURES,
    FIRST,
    HIGH,
    HIGH_FROM,
    LOW,
    MEAN,
    PAIRED,
    SCORE,
    add_document,
)
from learners.decisions.pairs import Partners, add_pairs, learn_pairs
from learners.jit import njit, njit_inline

PENDING_ROUNDS = FEATURES  # the last column of the pending gradient
ROUNDS, AVERAGE, VARIANCE = range(3)  # of recent scores
INTERCEPT, SLOPE, INTERCEPT_KNOWN, SLOPE_KNOWN = range(4)  # of a topic
TOPIC_COLUMNS = 4

START = (-2.0, 1.0, 1.0)  # the weights of the first features before anything is learned
RIDGE = 1.0  # curvature before anything is learned
STEP_ROUNDS = 4  # labelled rounds per step; a step per round took longer and was no better
FORGET = 0.003  # by how much the curvature of older rounds counts less, per round
KEEP = (1.0 - FORGET) ** STEP_ROUNDS  # the same for a whole step: what is left
# The first labelled rounds say only how large scores are. Learned from, they gave weights that took
# hundreds of rounds to recover.
SCALE_ROUNDS = 8
MOST_STEP = 1.0  # by which a weight moves in a step
# Variances of what each topic has of its own before anything is learned, and by how much they grow
# with each round of the topic, in units of themselves.
INTERCEPT_PRIOR, SLOPE_PRIOR, TOPIC_NOISE = 0.05, 0.03, 3e-4
RECENT = 0.01  # weight of the newest document in the statistics of scores
ROUNDING = 1e-20  # a variance below it, in units of the squared mean, is due to rounding
# The first few candidates get a probability, and others up to the first that is less likely.
ALWAYS_ESTIMATED, LEAST_LIKELY = 3, 0.01
LEAST_LOGIT = math.log(LEAST_LIKELY / (1.0 - LEAST_LIKELY))
LEAST_CURVATURE = 1e-4  # of the logistic curve
MOST_SCORE, MOST_SCALED, MOST_WEIGHT = 1e100, 30.0, 1e6
# A feature is at most the difference of two scaled scores. The rest is room for rounding.
MOST_GRADIENT = 1.001 * STEP_ROUNDS * CANDIDATES * 2.0 * MOST_SCALED


class Calibration(NamedTuple):
    """What is learned."""

    weights: Floats  # one per feature
    curvature: Floats  # features x features; only the upper triangle is used
    # Per topic: its intercept and slope, and by how much their variances are below the prior.
    topics: Floats
    pairs: Floats  # per pair of topics: a weight, and what is known of it
    scale: Floats  # rounds, and mean and variance of recent scores
    pending: Floats  # the gradient since the last step, and the number of its rounds


@njit_inline
def describe(
    topics: Ints, scores: Floats, row: int, count: int, model: Calibration, table: Floats
) -> float:
    """Write what is known of the `count` candidates of a row to a table; return their mean score.

    Which of them are likely is not known yet, so nothing is said about pairs.
    """
    scale_scores(scores, row, count, model.scale, table)
    weights, by_topic = model.weights, model.topics
    for place in range(count):
        topic = topics[row, place]
        table[INTERCEPTS, place] = by_topic[topic, INTERCEPT]
        table[SLOPES, place] = by_topic[topic, SLOPE]
    mean = total(table, SCORES) / max(count, 1)
    # A candidate is `best - score` below the best one: a part for all, and one for its score.
    best = table[SCORES, 0]
    for_all = (weights[CONSTANT] + weights[BELOW_BEST] * best) + weights[MEAN] * mean
    slope = weights[SCORE] - weights[BELOW_BEST]
    first, high, low = weights[FIRST], weights[HIGH], weights[LOW]
    for place in range(CANDIDATES):
        score = table[SCORES, place]
        logit = (for_all + table[INTERCEPTS, place]) + (slope + table[SLOPES, place]) * score
        logit += high * max(score - HIGH_FROM, 0.0) + low * max(-score, 0.0)
        table[LOGITS, place] = logit
    table[LOGITS, 0] += first
    return mean


@njit_inline
def scale_scores(scores: Floats, row: int, count: int, scale: Floats, table: Floats) -> None:
    """Write the scores of a row to a table, and the same in relation to recent ones."""
    average, variance = scale[AVERAGE], scale[VARIANCE]
    unit = 1.0 / math.sqrt(variance) if variance > ROUNDING * (average * average) else 1.0
    for place in range(CANDIDATES):
        raw = limited(scores[row, place], MOST_SCORE)
        scaled = limited((raw - average) * unit, MOST_SCALED)
        table[RAW_SCORES, place] = raw if place < count else 0.0
        table[SCORES, place] = scaled if place < count else 0.0


@njit_inline
def estimate(
    topics: Ints, row: int, count: int, least: int, model: Calibration, table: Floats,
    partners: Partners,
) -> int:  # fmt: skip
    """Estimate how likely candidates of a row are, up to an unlikely one; return their number.

    At least the first `least` of the `count` candidates, which the table describes, get a
    probability.
    """
    found = min(least, count)
    while found < count and table[LOGITS, found] >= LEAST_LOGIT:
        found += 1
    for place in range(CANDIDATES):
        table[SHARES, place] = logistic(table[LOGITS, place])
    add_pairs(topics, row, found, model.pairs, table, partners)
    weight = model.weights[PAIRED]
    for place in range(CANDIDATES):
        paired = limited(table[PAIR_SUMS, place], MOST_SCALED)
        probability = logistic(table[LOGITS, place] + weight * paired)
        table[PAIR_SUMS, place] = paired
        table[PROBABILITIES, place] = probability if place < found else 0.0
    return found


@njit_inline
def learn_candidates(
    topics: Ints, row: int, count: int, mean: float, model: Calibration, table: Floats,
    partners: Partners, reduced: Floats,
) -> None:  # fmt: skip
    """Learn what was right about the first `count` candidates of a row, which the table describes.

    `reduced` is room for a matrix.
    """
    for place in range(CANDIDATES):
        likely = table[PROBABILITIES, place]
        steep = max(likely * (1.0 - likely), LEAST_CURVATURE)
        table[ERRORS, place] = table[HITS, place] - likely if place < count else 0.0
        table[STEEPS, place] = steep if place < count else 0.0
    learn_topics(topics, row, count, model.topics, table)
    learn_pairs(count, model.pairs, table, partners)
    add_document(count, mean, table, model.pending, model.curvature)
    model.pending[PENDING_ROUNDS] += 1.0
    if model.pending[PENDING_ROUNDS] >= STEP_ROUNDS:
        take_step(model, reduced)


@njit_inline
def learn_topics(topics: Ints, row: int, count: int, by_topic: Floats, table: Floats) -> None:
    """Move what the topics of the first `count` candidates have of their own."""
    for place in range(count):
        topic = topics[row, place]
        table[INTERCEPTS_KNOWN, place] = by_topic[topic, INTERCEPT_KNOWN]
        table[SLOPES_KNOWN, place] = by_topic[topic, SLOPE_KNOWN]
    for place in range(CANDIDATES):
        score, off, steep = table[SCORES, place], table[ERRORS, place], table[STEEPS, place]
        intercept_variance = INTERCEPT_PRIOR - table[INTERCEPTS_KNOWN, place]
        slope_variance = SLOPE_PRIOR - table[SLOPES_KNOWN, place]
        square = score * score
        shrink = 1.0 / (1.0 + steep * (intercept_variance + slope_variance * square))
        intercept = table[INTERCEPTS, place] + (intercept_variance * off) * shrink
        slope = table[SLOPES, place] + ((slope_variance * score) * off) * shrink
        table[INTERCEPTS, place] = limited(intercept, MOST_WEIGHT)
        table[SLOPES, place] = limited(slope, MOST_WEIGHT)
        less = steep * shrink
        intercept_variance *= 1.0 - intercept_variance * less
        slope_variance *= 1.0 - (slope_variance * square) * less
        intercept_variance += TOPIC_NOISE * INTERCEPT_PRIOR
        slope_variance += TOPIC_NOISE * SLOPE_PRIOR
        table[INTERCEPTS_KNOWN, place] = max(INTERCEPT_PRIOR - intercept_variance, 0.0)
        table[SLOPES_KNOWN, place] = max(SLOPE_PRIOR - slope_variance, 0.0)
    for place in range(count):
        topic = topics[row, place]
        by_topic[topic, INTERCEPT] = table[INTERCEPTS, place]
        by_topic[topic, SLOPE] = table[SLOPES, place]
        by_topic[topic, INTERCEPT_KNOWN] = table[INTERCEPTS_KNOWN, place]
        by_topic[topic, SLOPE_KNOWN] = table[SLOPES_KNOWN, place]


@njit_inline
def learn_scale(count: int, scale: Floats, table: Floats) -> None:
    """Add the scores of the `count` candidates in a table to the statistics of recent scores."""
    share = max(1.0 / (scale[ROUNDS] + 1.0), RECENT)
    mean = limited(total(table, RAW_SCORES) / count, MOST_SCORE)  # rounding must not pass the limit
    for place in range(CANDIDATES):
        distance = table[RAW_SCORES, place] - mean if place < count else 0.0
        table[PRODUCTS, place] = distance * distance
    square = total(table, PRODUCTS)
    distance = mean - scale[AVERAGE]
    scale[ROUNDS] += 1.0
    scale[AVERAGE] = limited(scale[AVERAGE] + share * distance, MOST_SCORE)
    spread = scale[VARIANCE] + share * (distance * distance)
    scale[VARIANCE] = (1.0 - share) * spread + share * (square / count)


@njit
def take_step(model: Calibration, reduced: Floats) -> None:
    """Move the weights by the rounds since the last step. `reduced` is room for a matrix."""
    weights, curvature, pending = model.weights, model.curvature, model.pending
    solve(curvature, pending, reduced)
    for i in range(FEATURES):
        moved = weights[i] + limited(pending[i], MOST_STEP)
        if -MOST_WEIGHT <= moved <= MOST_WEIGHT:  # a weight never becomes NaN
            weights[i] = moved
        for k in range(i, FEATURES):
            curvature[i, k] = faded(curvature[i, k], KEEP)
    pending[:] = 0.0


@njit
def solve(curvature: Floats, vector: Floats, reduced: Floats) -> None:
    """Divide a vector by the curvature plus the ridge, in place, by elimination.

    The matrix is symmetric and has positive eigenvalues, so the largest element of a column need
    not be looked for. `reduced` is room for a copy.
    """
    for i in range(FEATURES):
        for k in range(i, FEATURES):
            reduced[i, k] = curvature[i, k]
        reduced[i, i] += RIDGE
    for i in range(FEATURES):
        inverse = 1.0 / max(reduced[i, i], LEAST_CURVATURE)  # rounding must not make it negative
        reduced[i, i] = inverse
        for k in range(i + 1, FEATURES):
            share = reduced[i, k] * inverse
            vector[k] -= share * vector[i]
            for j in range(k, FEATURES):
                reduced[k, j] -= share * reduced[i, j]
    for i in range(FEATURES - 1, -1, -1):
        for j in range(i + 1, FEATURES):
            vector[i] -= reduced[i, j] * vector[j]
        vector[i] *= reduced[i, i]
