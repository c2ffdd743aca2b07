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

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.decisions.bounded_numbers import faded, limited, logistic
from learners.decisions.decided import CANDIDATES
from learners.decisions.features import (
    BELOW_BEST,
    CONSTANT,
    ERROR_SUMS,
    FEATURES,
    FIRST,
    HIGH,
    HIGH_FROM,
    LOW,
    MEAN,
    PAIRED,
    SCORE,
    SLOPE_SUMS,
    add_candidate,
    add_document,
    add_first,
)
from learners.decisions.pairs import Partners, find_partners, learn_pairs, sum_of_pairs
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


class CalibrationWorkspace(NamedTuple):
    """Room for the numbers of one document."""

    scaled: Floats  # scores in relation to recent ones
    mean: Floats  # of them: one number
    paired: Floats  # what the likely topics say
    logits: Floats  # by the present weights, without pairs
    likely: Floats  # probabilities by the present weights
    errors: Floats  # sums over the candidates: see `features`
    slopes: Floats  # the same
    partners: Partners
    order: Longs  # places by falling probability
    reduced: Floats  # features x features


@njit
def new_workspace() -> CalibrationWorkspace:
    """Room for the numbers of one document."""
    return CalibrationWorkspace(
        np.zeros(CANDIDATES),
        np.zeros(1),
        np.zeros(CANDIDATES),
        np.zeros(CANDIDATES),
        np.zeros(CANDIDATES),
        np.zeros(ERROR_SUMS),
        np.zeros(SLOPE_SUMS),
        Partners(
            np.full(CANDIDATES + 1, -1),
            np.zeros(CANDIDATES),
            np.zeros((CANDIDATES, CANDIDATES), np.int64),
        ),
        np.zeros(CANDIDATES, np.int64),
        np.zeros((FEATURES, FEATURES)),
    )


@njit_inline
def scale_scores(scores: Floats, row: int, count: int, scale: Floats, scaled: Floats) -> float:
    """Write the scores of a row in relation to recent ones; return their mean."""
    average, variance = scale[AVERAGE], scale[VARIANCE]
    unit = 1.0 / math.sqrt(variance) if variance > ROUNDING * (average * average) else 1.0
    total = 0.0
    for place in range(count):
        score = limited(scores[row, place], MOST_SCORE)
        scaled[place] = limited((score - average) * unit, MOST_SCALED)
        total += scaled[place]
    return total / max(count, 1)


@njit_inline
def estimate(
    topics: Ints, scores: Floats, row: int, count: int, least: int, model: Calibration,
    work: CalibrationWorkspace,
) -> int:  # fmt: skip
    """Estimate how likely candidates of a row are, up to an unlikely one; return their number.

    At least the first `least` of the `count` candidates get a probability. What describes all that
    get one, and the probabilities, are left in `work`.
    """
    found = describe(topics, scores, row, count, least, model, work)
    find_partners(work.logits, found, work.partners)
    for place in range(found):
        paired = limited(sum_of_pairs(topics, row, place, model.pairs, work.partners), MOST_SCALED)
        work.paired[place] = paired
        work.likely[place] = logistic(work.logits[place] + model.weights[PAIRED] * paired)
    return found


@njit_inline
def describe(
    topics: Ints, scores: Floats, row: int, count: int, least: int, model: Calibration,
    work: CalibrationWorkspace,
) -> int:  # fmt: skip
    """Write the logits of candidates, up to an unlikely one; return their number.

    Which of them are likely is not known yet, so nothing is said about pairs.
    """
    weights, by_topic = model.weights, model.topics
    scaled, logits = work.scaled, work.logits
    mean = scale_scores(scores, row, count, model.scale, scaled)
    work.mean[0] = mean
    # A candidate is `scaled[0] - score` below the best one: a part for all, and one for its score.
    for_all = (weights[CONSTANT] + weights[BELOW_BEST] * scaled[0]) + weights[MEAN] * mean
    slope = weights[SCORE] - weights[BELOW_BEST]
    for place in range(count):
        score, topic = scaled[place], topics[row, place]
        logit = for_all + by_topic[topic, INTERCEPT] + (slope + by_topic[topic, SLOPE]) * score
        if place == 0:
            logit += weights[FIRST]
        if score > HIGH_FROM:
            logit += weights[HIGH] * (score - HIGH_FROM)
        elif score < 0.0:
            logit -= weights[LOW] * score
        logits[place] = logit
        if place >= least and logit < LEAST_LOGIT:
            return place
    return count


@njit_inline
def learn_candidates(
    topics: Ints, row: int, count: int, is_relevant: Bools, model: Calibration,
    work: CalibrationWorkspace,
) -> None:  # fmt: skip
    """Learn what was right about the first `count` candidates of a row, which `work` describes."""
    scaled, likely, errors, slopes = work.scaled, work.likely, work.errors, work.slopes
    errors[:] = 0.0
    slopes[:] = 0.0
    for place in range(count):
        score = scaled[place]
        steep = max(likely[place] * (1.0 - likely[place]), LEAST_CURVATURE)
        off = (1.0 if is_relevant[place] else 0.0) - likely[place]
        add_candidate(score, work.paired[place], scaled[0], off, steep, errors, slopes)
        if place == 0:
            add_first(work.paired[place], off, steep, errors, slopes)
        learn_topic(model.topics, topics[row, place], score, off, steep)
        learn_pairs(place, off, steep, model.pairs, work.partners)
    add_document(errors, slopes, scaled[0], work.mean[0], model.pending, model.curvature)
    model.pending[PENDING_ROUNDS] += 1.0
    if model.pending[PENDING_ROUNDS] >= STEP_ROUNDS:
        take_step(model, work.reduced)


@njit_inline
def learn_topic(by_topic: Floats, topic: int, score: float, off: float, steep: float) -> None:
    """Move what a topic has of its own."""
    intercept_variance = INTERCEPT_PRIOR - by_topic[topic, INTERCEPT_KNOWN]
    slope_variance = SLOPE_PRIOR - by_topic[topic, SLOPE_KNOWN]
    square = score * score
    shrink = 1.0 / (1.0 + steep * (intercept_variance + slope_variance * square))
    intercept = by_topic[topic, INTERCEPT] + (intercept_variance * off) * shrink
    slope = by_topic[topic, SLOPE] + ((slope_variance * score) * off) * shrink
    by_topic[topic, INTERCEPT] = limited(intercept, MOST_WEIGHT)
    by_topic[topic, SLOPE] = limited(slope, MOST_WEIGHT)
    less = steep * shrink
    intercept_variance *= 1.0 - intercept_variance * less
    slope_variance *= 1.0 - (slope_variance * square) * less
    intercept_variance += TOPIC_NOISE * INTERCEPT_PRIOR
    slope_variance += TOPIC_NOISE * SLOPE_PRIOR
    by_topic[topic, INTERCEPT_KNOWN] = max(INTERCEPT_PRIOR - intercept_variance, 0.0)
    by_topic[topic, SLOPE_KNOWN] = max(SLOPE_PRIOR - slope_variance, 0.0)


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


@njit_inline
def learn_scale(scores: Floats, row: int, count: int, scale: Floats) -> None:
    """Add the scores of a row to the statistics of recent scores."""
    share = max(1.0 / (scale[ROUNDS] + 1.0), RECENT)
    mean = 0.0
    for place in range(count):
        mean += limited(scores[row, place], MOST_SCORE)
    mean = limited(mean / count, MOST_SCORE)  # rounding must not pass the limit
    square = 0.0
    for place in range(count):
        distance = limited(scores[row, place], MOST_SCORE) - mean
        square += distance * distance
    distance = mean - scale[AVERAGE]
    scale[ROUNDS] += 1.0
    scale[AVERAGE] = limited(scale[AVERAGE] + share * distance, MOST_SCORE)
    spread = scale[VARIANCE] + share * (distance * distance)
    scale[VARIANCE] = (1.0 - share) * spread + share * (square / count)
