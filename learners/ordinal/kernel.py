"""Kernels of the ordinal learners: scores of a document, and updates along it.

The model is one or k columns of weights, or the instances of a kernel model with one coefficient
per column (`learners/prototypes/support_set.py`). `OrdinalOptions.budget` says which.

The learners' loops unpack the NamedTuples before they begin, and the kernels that they call for
every document take arrays. Passing a tuple counts the references of all its arrays, which would
take longer than scoring a document.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.jit import njit
from learners.prototypes.kernel import add_outer, score_row
from learners.prototypes.support_set import SupportArrays, add_support, keep_budget


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
def is_round(label_starts: Longs, labels: Ints, step: int, ranks: int) -> bool:
    """Whether a learning step has exactly one label, and that is one of the lane's ranks."""
    label = label_starts[step]
    return bool(label_starts[step + 1] == label + 1 and labels[label] < ranks)


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
def mean_columns(
    terms: Ints, values: Floats, lagging: Floats, scores: Floats, rounds: int, mean: Floats
) -> None:
    """Write the scores of the mean model to `mean`, from those of the model as it stands."""
    score_columns(terms, values, lagging, mean)
    for c in range(len(mean)):
        mean[c] = (rounds * scores[c] - mean[c]) / rounds


@njit
def mean_thresholds(
    threshold_sums: Floats, passed_before: Floats, counted: int, thresholds: Floats
) -> None:
    """Write the mean thresholds of the last `counted` rounds to `thresholds`.

    Thresholds are whole numbers, and so are their sums up to this division. So their means are in
    order as well.
    """
    for r in range(len(thresholds)):
        thresholds[r] = (threshold_sums[r] - passed_before[r]) / counted


@njit
def move_columns(
    terms: Ints, values: Floats, tau: Floats, lag: int, weights: Floats, lagging: Floats
) -> None:
    """Move column c of the weights by `tau_c x`, and of the averaging sum by `lag` times as much.

    `lag` is the number of rounds before this one, or 0 if the learner does not average.
    """
    add_columns(terms, values, tau, 1.0, weights)
    if lag > 0:
        add_columns(terms, values, tau, float(lag), lagging)


@njit
def move_supports(
    terms: Ints, values: Floats, tau: Floats, options: OrdinalOptions, rounds: int,
    model: OrdinalModel,
) -> None:  # fmt: skip
    """Add the document to the instances of a kernel model, within the budget.

    The errors of thresholds can cancel out. Then only the thresholds move.
    """
    if tau.any():
        add_support(terms, values, tau, options.columns, rounds, model.supports)
        keep_budget(options.budget, rounds, options.average, model.threshold_sums, model.supports)
