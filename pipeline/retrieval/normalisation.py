"""Makes the scores of functions comparable between queries, and cuts them into bins.

The scores of a retrieval function cannot be compared across queries: a sum over query terms grows
with the number of terms. If all queries were cut at the same values, the bins of one query would be
empty where those of another are full. So scores are first mapped to 0 .. 1 within each query:

==============  ================================================================================
normalisation   a document's value
==============  ================================================================================
minmax          (score - least) / (largest - least) of the scores in its query; 0 if all are equal
place           1 - log(place) / log(n + 1), where n is the number of scores: differences between
                the first places count as much as they do for average precision; equal scores share
                the best of their places
percentile      the share of the other scores in its query that are lower; equal ones count half; 0
                if there is only one score
none            the unchanged score
==============  ================================================================================

A document that a function did not score has no value (NaN), and is below all cuts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats
from pipeline.retrieval.query_sets import QuerySet

NORMALISATIONS = ("minmax", "place", "percentile", "none")
CUTS = 50
MOST_CUTS = 1000
Bins = npt.NDArray[np.uint16]


def normalised(queries: QuerySet, how: str) -> Floats:
    """The normalised values of all documents, as a copy."""
    values = queries.values.copy()
    if how == "none":
        return values
    normalise = BY_QUERY[how]
    for start, stop in zip(queries.starts[:-1], queries.starts[1:], strict=True):
        for function in range(values.shape[1]):
            scores = values[start:stop, function]  # a view
            present = ~np.isnan(scores)
            if present.any():
                scores[present] = normalise(scores[present])
    return values


def minmax(scores: Floats) -> Floats:
    """From 0 for the least to 1 for the largest.

    >>> minmax(np.array([2.0, 6.0, 3.0])).tolist()
    [0.0, 1.0, 0.25]
    """
    least, largest = scores.min(), scores.max()
    if largest == least:
        return np.zeros(len(scores))
    half = largest / 2 - least / 2  # the whole difference could overflow
    shares: Floats = np.clip((scores / 2 - least / 2) / half, 0.0, 1.0)
    return shares


def percentile(scores: Floats) -> Floats:
    """The share of the other scores that are lower; equal ones count half.

    >>> percentile(np.array([5.0, 1.0, 5.0])).tolist()
    [0.75, 0.0, 0.75]
    """
    if len(scores) == 1:
        return np.zeros(1)
    ordered = np.sort(scores)
    below = np.searchsorted(ordered, scores, side="left")
    level = np.searchsorted(ordered, scores, side="right") - below - 1
    return (below + level / 2) / (len(scores) - 1)


def place(scores: Floats) -> Floats:
    """1 for the first place, falling with the logarithm of the place.

    >>> place(np.array([5.0, 1.0, 5.0])).round(4).tolist()
    [1.0, 0.2075, 1.0]
    """
    above = len(scores) - np.searchsorted(np.sort(scores), scores, side="right")
    places: Floats = 1.0 - np.log(above + 1.0) / np.log(len(scores) + 1.0)
    return places


BY_QUERY: dict[str, Callable[[Floats], Floats]] = {
    "minmax": minmax,
    "place": place,
    "percentile": percentile,
}


def even_cuts(values: Floats, how: str, cuts: int) -> Floats:
    """The values at which the bins of each function begin (functions x cuts), evenly spaced.

    They start at 0 if values are normalised, otherwise they range from the least to the largest
    value. The first cut is the least value itself, so only documents without a value are below it.
    """
    if how != "none":
        return np.tile(np.arange(cuts) / cuts, (values.shape[1], 1))
    spaced = np.zeros((values.shape[1], cuts))
    for function, column in enumerate(values.T):
        present = column[~np.isnan(column)]
        if len(present):
            least, largest = present.min(), present.max()
            shares = np.arange(cuts) / cuts
            spaced[function] = least * (1 - shares) + largest * shares
    return spaced


def binned(values: Floats, cuts: Floats) -> Bins:
    """The number of cuts that each value reaches; 0 for a missing value."""
    bins = np.zeros(values.shape, np.uint16)
    for function, column in enumerate(values.T):
        reached = np.searchsorted(cuts[function], column, side="right")
        bins[:, function] = np.where(np.isnan(column), 0, reached)
    return bins
