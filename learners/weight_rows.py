"""Weights in compressed rows, for everybody who wants to look at a model or take it elsewhere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs


class WeightRows(NamedTuple):
    """The weights of some terms that are not 0.

    Row i is `columns[starts[i]:starts[i + 1]]` and the values there, with ascending columns. A
    column is a topic; of an ordinal learner it is a rank, or the only score.
    """

    starts: Longs
    columns: Ints
    values: Floats

    def __len__(self) -> int:
        """The number of rows, not of fields."""
        return len(self.starts) - 1

    def row_numbers(self) -> Longs:
        """The row of each weight."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))


def no_weights(rows: int) -> WeightRows:
    """Return this many rows without weights."""
    return WeightRows(np.zeros(rows + 1, np.int64), np.empty(0, np.int32), np.empty(0))


def nonzero_weights(dense: Floats, known: Bools) -> WeightRows:
    """Return the weights of a matrix that are not 0; its rows are those that are `known`.

    >>> import numpy as np
    >>> rows = nonzero_weights(np.array([[0.0, 2.0], [3.0, 4.0]]), np.array([True, False, True]))
    >>> rows.starts.tolist(), rows.columns.tolist(), rows.values.tolist()
    ([0, 1, 1, 3], [1, 0, 1], [2.0, 3.0, 4.0])
    """
    row, column = np.nonzero(dense)
    counts = np.zeros(len(known), np.int64)
    counts[known] = np.bincount(row, minlength=len(dense))
    return WeightRows(starts_of(counts), column.astype(np.int32), dense[row, column])


def starts_of(counts: Longs) -> Longs:
    """Return where each row starts, and where the last one ends."""
    starts: Longs = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts
