"""Vectors of length one: what the option `norm=l2` makes of documents."""

from __future__ import annotations

import numpy as np

from learners.arrays import Floats
from learners.jit import njit
from learners.segment import Rows

TINY = 1e-100  # the squares of smaller values underflow


@njit
def unit_length(rows: Rows) -> Floats:
    """Return the values of rows scaled to Euclidean length one; zero rows stay as they are."""
    scaled = rows.values.copy()
    for row in range(len(rows.starts) - 1):
        values = scaled[rows.starts[row] : rows.starts[row + 1]]
        largest = 0.0
        for value in values:
            largest = max(largest, abs(value))
        if 0.0 < largest < TINY:
            values /= largest  # otherwise the squares would underflow to 0
        square = 0.0
        for value in values:
            square += value * value
        if square > 0.0:
            values /= np.sqrt(square)
    return scaled
