"""Scores of functions made comparable between queries, and cut into bins.

The scores of a retrieval function mean little across queries: a sum over query terms grows with
their number. Cut at the same places for all queries, the bins of one query are empty where those
of another are full. So the scores of a function are first brought to 0 .. 1 within each query:

==============  ================================================================================
normalisation   a document's value
==============  ================================================================================
minmax          (score - least) / (largest - least) of the scores in its query; 0 if all are equal
place           1 - log(place) / log(n + 1), where n is how many scores there are: differences
                between the first places count as much as they do for average precision; equals
                share the best of their places
percentile      the share of the other scores in its query that are below, equals by half; 0 if it
                is the only one
none            the score as it is
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
    """The values of all documents, as a copy."""
    values = queries.values.copy()
    if how == "none":
        return values
    bring = BY_QUERY[how]
    for start, stop in zip(queries.starts[:-1], queries.starts[1:], strict=True):
        for function in range(values.shape[1]):
            mine = values[start:stop, function]
            there = ~np.isnan(mine)
            if there.any():
                mine[there] = bring(mine[there])
    return values


def minmax(scores: Floats) -> Floats:
    """From 0 for the least to 1 for the largest.

    >>> minmax(np.array([2.0, 6.0, 3.0])).tolist()
    [0.0, 1.0, 0.25]
    """
    least, largest = scores.min(), scores.max()
    if largest == least:
        return np.zeros(len(scores))
    half = largest / 2 - least / 2  # the whole may be more than a number can hold
    shares: Floats = np.clip((scores / 2 - least / 2) / half, 0.0, 1.0)
    return shares


def percentile(scores: Floats) -> Floats:
    """The share of the others that are below, equals by half.

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
    """The place of each among them, the differences falling from place to place.

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
    """For each function the values from which on a document is in the next bin (functions x cuts).

    They are evenly spaced, from 0 on if values are normalised, otherwise from the least to the
    largest value that there is. The first cut is the least value itself: below it is only what
    has none.
    """
    if how != "none":
        return np.tile(np.arange(cuts) / cuts, (values.shape[1], 1))
    found = np.zeros((values.shape[1], cuts))
    for function, column in enumerate(values.T):
        there = column[~np.isnan(column)]
        if len(there):
            least, largest = there.min(), there.max()
            shares = np.arange(cuts) / cuts
            found[function] = least * (1 - shares) + largest * shares
    return found


def binned(values: Floats, cuts: Floats) -> Bins:
    """How many cuts of its function each value reaches; none is missing."""
    bins = np.zeros(values.shape, np.uint16)
    for function, column in enumerate(values.T):
        reached = np.searchsorted(cuts[function], column, side="right")
        bins[:, function] = np.where(np.isnan(column), 0, reached)
    return bins
