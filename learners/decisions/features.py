"""What describes a candidate, and what the candidates of a document add to a Newton step.

The gradient of a logistic regression adds up, over candidates, each feature times the error of the
probability. The curvature adds up each product of two features times the slope of the logistic
curve. Most features follow from the score of the candidate and two numbers of the document, its
best and its mean score. So only a few sums are taken per candidate; the rest is done once per
document.
"""

from __future__ import annotations

from learners.arrays import Floats
from learners.jit import njit_inline

# What describes a candidate: a constant, its score, what the likely topics say about it, how far it
# is below the best topic, whether it is first, by how much its score is high or low, and the mean
# score of the document.
CONSTANT, SCORE, PAIRED, BELOW_BEST, FIRST, HIGH, LOW, MEAN = range(8)
FEATURES = 8
HIGH_FROM = 1.0  # standard deviations above the mean; scores below the mean are low

# Sums of errors: of all candidates, times one feature, and the error of the first candidate.
ALL, SCORES, PAIRS, HIGHS, LOWS, FIRSTS = range(6)
ERROR_SUMS = 6
# Sums of slopes: the same, times a second feature, and the first one's slope times its pairs.
SCORES_SCORES, SCORES_PAIRS, PAIRS_PAIRS, BELOW_BELOW, HIGHS_HIGHS, HIGHS_PAIRS = range(6, 12)
LOWS_LOWS, LOWS_PAIRS, FIRSTS_PAIRS = range(12, 15)
SLOPE_SUMS = 15


@njit_inline
def add_candidate(
    score: float, paired: float, best: float, error: float, slope: float, errors: Floats,
    slopes: Floats,
) -> None:  # fmt: skip
    """Add a candidate to the sums of its document."""
    by_score, by_pairs, below = slope * score, slope * paired, best - score
    errors[ALL] += error
    errors[SCORES] += error * score
    errors[PAIRS] += error * paired
    slopes[ALL] += slope
    slopes[SCORES] += by_score
    slopes[PAIRS] += by_pairs
    slopes[SCORES_SCORES] += by_score * score
    slopes[SCORES_PAIRS] += by_score * paired
    slopes[PAIRS_PAIRS] += by_pairs * paired
    slopes[BELOW_BELOW] += (slope * below) * below
    if score > HIGH_FROM:
        high = score - HIGH_FROM
        errors[HIGHS] += error * high
        slopes[HIGHS] += slope * high
        slopes[HIGHS_HIGHS] += (slope * high) * high
        slopes[HIGHS_PAIRS] += by_pairs * high
    elif score < 0.0:
        errors[LOWS] -= error * score
        slopes[LOWS] -= by_score
        slopes[LOWS_LOWS] += by_score * score
        slopes[LOWS_PAIRS] -= by_pairs * score


@njit_inline
def add_first(paired: float, error: float, slope: float, errors: Floats, slopes: Floats) -> None:
    """Note what only the first candidate adds."""
    errors[FIRSTS] = error
    slopes[FIRSTS], slopes[FIRSTS_PAIRS] = slope, slope * paired


@njit_inline
def add_document(
    errors: Floats, slopes: Floats, best: float, mean: float, gradient: Floats, curvature: Floats
) -> None:
    """Add the sums of a document to the gradient and to the upper triangle of the curvature."""
    gradient[CONSTANT] += errors[ALL]
    gradient[SCORE] += errors[SCORES]
    gradient[PAIRED] += errors[PAIRS]
    gradient[BELOW_BEST] += best * errors[ALL] - errors[SCORES]
    gradient[FIRST] += errors[FIRSTS]
    gradient[HIGH] += errors[HIGHS]
    gradient[LOW] += errors[LOWS]
    gradient[MEAN] += mean * errors[ALL]

    total, scores, pairs, first = slopes[ALL], slopes[SCORES], slopes[PAIRS], slopes[FIRSTS]
    highs, lows, below = slopes[HIGHS], slopes[LOWS], best * slopes[ALL] - slopes[SCORES]
    high_scores, low_scores = slopes[HIGHS_HIGHS] + HIGH_FROM * highs, -slopes[LOWS_LOWS]
    curvature[CONSTANT, CONSTANT] += total
    curvature[CONSTANT, SCORE] += scores
    curvature[CONSTANT, PAIRED] += pairs
    curvature[CONSTANT, BELOW_BEST] += below
    curvature[CONSTANT, FIRST] += first
    curvature[CONSTANT, HIGH] += highs
    curvature[CONSTANT, LOW] += lows
    curvature[CONSTANT, MEAN] += mean * total
    curvature[SCORE, SCORE] += slopes[SCORES_SCORES]
    curvature[SCORE, PAIRED] += slopes[SCORES_PAIRS]
    curvature[SCORE, BELOW_BEST] += best * scores - slopes[SCORES_SCORES]
    curvature[SCORE, FIRST] += best * first
    curvature[SCORE, HIGH] += high_scores
    curvature[SCORE, LOW] += low_scores
    curvature[SCORE, MEAN] += mean * scores
    curvature[PAIRED, PAIRED] += slopes[PAIRS_PAIRS]
    curvature[PAIRED, BELOW_BEST] += best * pairs - slopes[SCORES_PAIRS]
    curvature[PAIRED, FIRST] += slopes[FIRSTS_PAIRS]
    curvature[PAIRED, HIGH] += slopes[HIGHS_PAIRS]
    curvature[PAIRED, LOW] += slopes[LOWS_PAIRS]
    curvature[PAIRED, MEAN] += mean * pairs
    curvature[BELOW_BEST, BELOW_BEST] += slopes[BELOW_BELOW]
    curvature[BELOW_BEST, HIGH] += best * highs - high_scores
    curvature[BELOW_BEST, LOW] += best * lows - low_scores
    curvature[BELOW_BEST, MEAN] += mean * below
    curvature[FIRST, FIRST] += first
    curvature[FIRST, HIGH] += first * max(best - HIGH_FROM, 0.0)
    curvature[FIRST, LOW] += first * max(-best, 0.0)
    curvature[FIRST, MEAN] += mean * first
    curvature[HIGH, HIGH] += slopes[HIGHS_HIGHS]
    curvature[HIGH, MEAN] += mean * highs
    curvature[LOW, LOW] += slopes[LOWS_LOWS]
    curvature[LOW, MEAN] += mean * lows
    curvature[MEAN, MEAN] += mean * (mean * total)
