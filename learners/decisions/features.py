"""What describes a candidate, and what the candidates of a document add to a Newton step.

The gradient of a logistic regression adds up, over candidates, each feature times the error of the
probability. The curvature adds up each product of two features times the slope of the logistic
curve. Most features follow from the score of the candidate and two numbers of the document, its
best and its mean score. So only a few sums are taken per candidate; the rest is done once per
document.
"""

from __future__ import annotations

from learners.arrays import Floats
from learners.decisions.candidates import ERRORS, PAIR_SUMS, SCORES, STEEPS
from learners.jit import njit_inline

# What describes a candidate: a constant, its score, what the likely topics say about it, how far it
# is below the best topic, whether it is first, by how much its score is high or low, and the mean
# score of the document.
CONSTANT, SCORE, PAIRED, BELOW_BEST, FIRST, HIGH, LOW, MEAN = range(8)
FEATURES = 8
HIGH_FROM = 1.0  # standard deviations above the mean; scores below the mean are low


@njit_inline
def add_document(
    count: int, mean: float, table: Floats, gradient: Floats, curvature: Floats
) -> None:
    """Add the first `count` candidates of a document to a Newton step.

    That is, to the gradient and to the upper triangle of the curvature. The table has the errors
    and slopes of the candidates, and `mean` is their mean score.
    """
    best = table[SCORES, 0]
    error = error_score = error_pairs = error_high = error_low = 0.0
    slope = slope_score = slope_pairs = slope_high = slope_low = 0.0
    score_score = score_pairs = pairs_pairs = below_below = 0.0
    high_high = high_pairs = low_low = low_pairs = 0.0
    for place in range(count):
        off, steep = table[ERRORS, place], table[STEEPS, place]
        score, pairs = table[SCORES, place], table[PAIR_SUMS, place]
        high, low, below = max(score - HIGH_FROM, 0.0), max(-score, 0.0), best - score
        by_score, by_pairs = steep * score, steep * pairs
        by_high, by_low = steep * high, steep * low
        error += off
        error_score += off * score
        error_pairs += off * pairs
        error_high += off * high
        error_low += off * low
        slope += steep
        slope_score += by_score
        slope_pairs += by_pairs
        slope_high += by_high
        slope_low += by_low
        score_score += by_score * score
        score_pairs += by_score * pairs
        pairs_pairs += by_pairs * pairs
        below_below += (steep * below) * below
        high_high += by_high * high
        high_pairs += by_pairs * high
        low_low += by_low * low
        low_pairs += by_pairs * low
    first, first_pairs = table[STEEPS, 0], table[STEEPS, 0] * table[PAIR_SUMS, 0]

    gradient[CONSTANT] += error
    gradient[SCORE] += error_score
    gradient[PAIRED] += error_pairs
    gradient[BELOW_BEST] += best * error - error_score
    gradient[FIRST] += table[ERRORS, 0]
    gradient[HIGH] += error_high
    gradient[LOW] += error_low
    gradient[MEAN] += mean * error

    # A high score is HIGH_FROM above what it is high by, and a low one is minus what it is low by.
    slope_below = best * slope - slope_score
    high_score, low_score = high_high + HIGH_FROM * slope_high, -low_low
    curvature[CONSTANT, CONSTANT] += slope
    curvature[CONSTANT, SCORE] += slope_score
    curvature[CONSTANT, PAIRED] += slope_pairs
    curvature[CONSTANT, BELOW_BEST] += slope_below
    curvature[CONSTANT, FIRST] += first
    curvature[CONSTANT, HIGH] += slope_high
    curvature[CONSTANT, LOW] += slope_low
    curvature[CONSTANT, MEAN] += mean * slope
    curvature[SCORE, SCORE] += score_score
    curvature[SCORE, PAIRED] += score_pairs
    curvature[SCORE, BELOW_BEST] += best * slope_score - score_score
    curvature[SCORE, FIRST] += best * first
    curvature[SCORE, HIGH] += high_score
    curvature[SCORE, LOW] += low_score
    curvature[SCORE, MEAN] += mean * slope_score
    curvature[PAIRED, PAIRED] += pairs_pairs
    curvature[PAIRED, BELOW_BEST] += best * slope_pairs - score_pairs
    curvature[PAIRED, FIRST] += first_pairs
    curvature[PAIRED, HIGH] += high_pairs
    curvature[PAIRED, LOW] += low_pairs
    curvature[PAIRED, MEAN] += mean * slope_pairs
    curvature[BELOW_BEST, BELOW_BEST] += below_below
    curvature[BELOW_BEST, HIGH] += best * slope_high - high_score
    curvature[BELOW_BEST, LOW] += best * slope_low - low_score
    curvature[BELOW_BEST, MEAN] += mean * slope_below
    curvature[FIRST, FIRST] += first
    curvature[FIRST, HIGH] += first * max(best - HIGH_FROM, 0.0)
    curvature[FIRST, LOW] += first * max(-best, 0.0)
    curvature[FIRST, MEAN] += mean * first
    curvature[HIGH, HIGH] += high_high
    curvature[HIGH, MEAN] += mean * slope_high
    curvature[LOW, LOW] += low_low
    curvature[LOW, MEAN] += mean * slope_low
    curvature[MEAN, MEAN] += mean * (mean * slope)
