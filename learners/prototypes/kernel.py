"""Kernels of the prototype learners: scores by inner product, and updates along a document.

Prototypes are kept as terms x topics, row-major: a document touches the rows of its own terms and
nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Ints
from learners.jit import njit
from learners.threads import columns_from


class Prototypes(NamedTuple):
    """One weight vector per topic, as kernels see them: terms x topics, with room to grow."""

    weights: Floats
    # The sum of (t - 1) times the update of round t. The mean of the prototypes after rounds 1..T
    # follows as (T weights - lagging) / T. Empty if the learner does not average.
    lagging: Floats

    def columns_from(self, first: int) -> Prototypes:
        """The prototypes of the topics from `first` on; see `learners.threads`."""
        if first == 0:
            return self
        return Prototypes(columns_from(self.weights, first), columns_from(self.lagging, first))


class Workspace(NamedTuple):
    """Room for the numbers of one document, one per topic."""

    scores: Floats  # by the prototypes as they stand
    lag: Floats  # by `lagging`
    tau: Floats  # how far each topic moves along the document


@njit
def new_workspace(topics: int) -> Workspace:
    """Zeros for this many topics."""
    return Workspace(np.zeros(topics), np.zeros(topics), np.zeros(topics))


@njit
def score_row(terms: Ints, values: Floats, weights: Floats, known: int, scores: Floats) -> None:
    """Write `w_r . x` of the first `known` topics to `scores`, summed in the order of the terms."""
    scores[:known] = 0.0
    whole = len(terms) - len(terms) % 4
    # Four terms at a time need a quarter of the passes over the scores. Each score is still added
    # up in the order of the terms, so this changes no bit of it.
    for i in range(0, whole, 4):
        a, b, c, d = values[i], values[i + 1], values[i + 2], values[i + 3]
        wa, wb = weights[terms[i]], weights[terms[i + 1]]
        wc, wd = weights[terms[i + 2]], weights[terms[i + 3]]
        for r in range(known):
            scores[r] = (((scores[r] + a * wa[r]) + b * wb[r]) + c * wc[r]) + d * wd[r]
    for i in range(whole, len(terms)):
        value, weight = values[i], weights[terms[i]]
        for r in range(known):
            scores[r] += value * weight[r]


@njit
def add_outer(
    terms: Ints, values: Floats, tau: Floats, factor: float, known: int, weights: Floats
) -> None:
    """Add `factor * x tau^T` to the weights. If most topics stay, visit only those that move."""
    moving = 0
    for r in range(known):
        moving += tau[r] != 0.0
    if 4 * moving > known:
        for i in range(len(terms)):
            value, weight = values[i] * factor, weights[terms[i]]
            for r in range(known):
                weight[r] += value * tau[r]
        return
    topics = np.flatnonzero(tau[:known])
    for i in range(len(terms)):
        value, weight = values[i] * factor, weights[terms[i]]
        for topic in topics:
            weight[topic] += value * tau[topic]


@njit
def rank_row(
    terms: Ints, values: Floats, known: int, average: bool, rounds: int,
    model: Prototypes, work: Workspace, out: Floats,
) -> None:  # fmt: skip
    """Write the scores of the first `known` topics to `out`, by the mean prototypes if `average`.

    The scores by the prototypes as they stand are left in `work.scores`.
    """
    scores, lag = work.scores, work.lag
    score_row(terms, values, model.weights, known, scores)
    if average and rounds > 0:
        score_row(terms, values, model.lagging, known, lag)
        for r in range(known):
            # One division of one difference: topics with equal sums get equal scores.
            out[r] = (rounds * scores[r] - lag[r]) / rounds
    else:
        out[:known] = scores[:known]


@njit
def move_prototypes(
    terms: Ints, values: Floats, known: int, average: bool, rounds: int,
    tau: Floats, model: Prototypes,
) -> None:  # fmt: skip
    """Move the prototype of each topic r by `tau_r x`."""
    add_outer(terms, values, tau, 1.0, known, model.weights)
    if average and rounds > 0:
        add_outer(terms, values, tau, float(rounds), known, model.lagging)
