"""Kernels of the ordinal learners: scores of a document, and updates along it.

The model is one or k columns of weights, or the instances of a kernel model with one coefficient
per column (`learners/prototypes/support_set.py`). `OrdinalOptions.budget` says which.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Ints
from learners.jit import njit
from learners.prototypes.kernel import add_outer, score_row
from learners.prototypes.support_set import (
    SupportArrays,
    add_support,
    keep_budget,
    score_supports,
)
from learners.segment import Steps


class OrdinalOptions(NamedTuple):
    """The options that all ordinal learners have."""

    ranks: int
    columns: int  # one vector, or one prototype per rank
    average: bool
    budget: int  # instances of a kernel model; 0: the model is in the weights


class OrdinalModel(NamedTuple):
    """The model as kernels see it, and the sums that its mean over all rounds is made from."""

    weights: Floats  # terms x columns
    lagging: Floats  # the sum of (t - 1) times the update of round t, as in `Prototypes`
    thresholds: Floats  # of PRank; otherwise empty
    threshold_sums: Floats  # of the thresholds after each round
    supports: SupportArrays


class OrdinalWorkspace(NamedTuple):
    """Room for the numbers of one document."""

    scores: Floats  # by the model as it stands, one per column
    mean: Floats  # by the mean model; empty if the learner does not average
    mean_thresholds: Floats
    tau: Floats  # how far each column moves along the document
    shift: Floats  # how far each threshold moves


@njit
def new_workspace(options: OrdinalOptions, model: OrdinalModel) -> OrdinalWorkspace:
    """Zeros for the columns and thresholds of the model."""
    columns, thresholds = options.columns, len(model.thresholds)
    return OrdinalWorkspace(
        np.zeros(columns),
        np.zeros(columns if options.average else 0),
        np.zeros(thresholds),
        np.zeros(columns),
        np.zeros(thresholds),
    )


@njit
def is_round(steps: Steps, step: int, ranks: int) -> bool:
    """Whether a learning step has exactly one label, and that is one of the lane's ranks."""
    label = steps.label_starts[step]
    return bool(steps.label_starts[step + 1] == label + 1 and steps.labels[label] < ranks)


@njit
def score_columns(terms: Ints, values: Floats, weights: Floats, scores: Floats) -> None:
    """Write the inner product with every column to `scores`, summed in the order of the terms."""
    if len(scores) > 1:
        score_row(terms, values, weights, len(scores), scores)
        return
    total = 0.0
    for i in range(len(terms)):
        total += values[i] * weights[terms[i], 0]
    scores[0] = total


@njit
def add_columns(terms: Ints, values: Floats, tau: Floats, factor: float, weights: Floats) -> None:
    """Add `factor * x tau^T` to the weights."""
    if len(tau) > 1:
        add_outer(terms, values, tau, factor, len(tau), weights)
        return
    move = tau[0]
    for i in range(len(terms)):
        weights[terms[i], 0] += values[i] * factor * move


@njit
def score_document(
    terms: Ints, values: Floats, options: OrdinalOptions, rounds: int,
    model: OrdinalModel, work: OrdinalWorkspace,
) -> None:  # fmt: skip
    """Write the scores of the model as it stands to `work.scores`.

    A kernel model writes those of the mean model as well, since it looks at each instance once.
    """
    if options.budget > 0:
        score_supports(
            terms, values, model.supports, options.columns, rounds, work.scores, work.mean
        )
    else:
        score_columns(terms, values, model.weights, work.scores)


@njit
def ranking_scores(
    terms: Ints, values: Floats, options: OrdinalOptions, rounds: int,
    model: OrdinalModel, work: OrdinalWorkspace,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The scores and thresholds to rank a document by, after `score_document`.

    They are those of the model as it stands, or of its mean over the rounds so far if the learner
    averages.
    """
    if not options.average or rounds == 0:
        return work.scores, model.thresholds
    mean, scores = work.mean, work.scores
    if options.budget == 0:
        score_columns(terms, values, model.lagging, mean)
        for c in range(options.columns):
            mean[c] = (rounds * scores[c] - mean[c]) / rounds
    # Thresholds are whole numbers, and so are their sums up to this division. So their means are in
    # order as well. A model in the weights never leaves a round out of the mean.
    counted = rounds - model.supports.before[0]
    work.mean_thresholds[:] = (model.threshold_sums - model.supports.passed_before) / counted
    return mean, work.mean_thresholds


@njit
def move_model(
    terms: Ints, values: Floats, tau: Floats, options: OrdinalOptions, rounds: int,
    model: OrdinalModel,
) -> None:  # fmt: skip
    """Move column c of the model by `tau_c x`."""
    if options.budget == 0:
        add_columns(terms, values, tau, 1.0, model.weights)
        if options.average and rounds > 0:
            add_columns(terms, values, tau, float(rounds), model.lagging)
    elif tau.any():  # the errors of thresholds can cancel out; then only the thresholds move
        add_support(terms, values, tau, options.columns, rounds, model.supports)
        keep_budget(options.budget, rounds, options.average, model.threshold_sums, model.supports)


@njit
def sum_thresholds(options: OrdinalOptions, model: OrdinalModel) -> None:
    """At the end of a round, add the thresholds to the sums that their means are made from."""
    if options.average:
        for r in range(len(model.thresholds)):
            model.threshold_sums[r] += model.thresholds[r]
