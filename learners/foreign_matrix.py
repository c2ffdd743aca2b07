"""Matrices of other libraries as rows for kernels: scipy's sparse matrices and numpy's arrays.

Kernels check no index, so everything about a foreign matrix is checked here first. Libraries are
recognised by the methods of their objects: scipy is not needed to read scipy's matrices.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Longs
from learners.checks import InvalidArrayError, check_range, check_starts
from learners.segment import Rows

MAX_VALUE = 1e75  # squares of larger values, and sums of the squares, might be infinite
MAX_COLUMNS = 2**31 - 1  # terms are numbered by 32-bit integers
REAL_KINDS = "buif"


class Matrix(NamedTuple):
    """The rows of a matrix, and how many columns it has."""

    rows: Rows
    columns: int


def is_sparse(value: object) -> bool:
    """Return whether this is a sparse matrix or array of scipy."""
    return hasattr(value, "tocsr")


def is_matrix(value: object) -> bool:
    """Return whether this is a matrix: scipy's, numpy's, or a table with two dimensions."""
    return is_sparse(value) or getattr(value, "ndim", None) == 2


def read_matrix(matrix: object, name: str = "X") -> Matrix:
    """Return the rows of a matrix; `InvalidArrayError` if its numbers cannot be used.

    Terms rise within a row, none of them occurs twice, and no value is 0. The arrays are those of
    the matrix if they have this form already, otherwise copies.

    Examples
    --------
    >>> read_matrix(np.array([[0.0, 2.0], [0.5, 0.0]])).rows.terms
    array([1, 0], dtype=int32)

    """
    if is_sparse(matrix):
        return read_sparse(matrix, name)
    return read_dense(np.asarray(matrix), name)


def read_dense(array: npt.NDArray[Any], name: str) -> Matrix:
    """Return the rows of an array with two dimensions."""
    rows, columns = check_dimensions(array.shape, name)
    check_kind(array.dtype, name)
    values = array.astype(np.float64)
    check_values(values.reshape(-1), name)
    row, column = np.nonzero(values)
    starts = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=rows), out=starts[1:])
    return Matrix(Rows(starts, column.astype(np.int32), values[row, column]), columns)


def read_sparse(matrix: Any, name: str) -> Matrix:  # noqa: ANN401 - scipy has no types
    """Return the rows of a sparse matrix of any format."""
    rows, columns = check_dimensions(matrix.shape, name)
    csr = matrix.tocsr()
    check_kind(csr.data.dtype, name)
    if csr.indices.dtype.kind not in "iu" or csr.indptr.dtype.kind not in "iu":
        raise InvalidArrayError(f"the indices of {name} are not integers")
    starts = for_kernels(csr.indptr, np.int64)
    used = min(len(csr.indices), len(csr.data))
    if len(starts) != rows + 1 or starts[-1] > used:
        raise InvalidArrayError(
            f"{name} has {rows} rows and {used} values, but its indptr has {len(starts)} numbers "
            f"and ends at {starts[-1] if len(starts) else 0}"
        )
    check_starts(f"indptr of {name}", starts, int(starts[-1]))
    indices = csr.indices[: starts[-1]]
    check_range(f"indices of {name}", indices, 0, columns)
    terms = for_kernels(indices, np.int32)
    values = for_kernels(csr.data[: starts[-1]], np.float64)
    check_values(values, name)
    return Matrix(without_zeros(in_order(Rows(starts, terms, values))), columns)


def check_dimensions(shape: tuple[int, ...], name: str) -> tuple[int, int]:
    """Return the numbers of rows and columns; there must be two dimensions."""
    if len(shape) != 2:
        raise InvalidArrayError(
            f"{name} has {len(shape)} dimensions, expected 2: one row per document. "
            f"Reshape one document with {name}.reshape(1, -1)."
        )
    rows, columns = shape
    if columns > MAX_COLUMNS:
        raise InvalidArrayError(f"{name} has {columns} columns; at most {MAX_COLUMNS} are possible")
    return rows, columns


def check_kind(dtype: np.dtype[Any], name: str) -> None:
    """Raise `InvalidArrayError` unless the numbers are real."""
    if dtype.kind not in REAL_KINDS:
        raise InvalidArrayError(f"{name} has values of type {dtype}, expected real numbers")


def check_values(values: Floats, name: str) -> None:
    """Raise `InvalidArrayError` if a value is infinite, not a number, or too large."""
    # Nothing is allocated for this, and NaN fails both comparisons.
    if len(values) and not (values.min() >= -MAX_VALUE and values.max() <= MAX_VALUE):
        wrong = values[~(np.abs(values) <= MAX_VALUE)][0]
        raise InvalidArrayError(
            f"{name} has the value {wrong}, expected finite numbers (no NaN, no infinity) of at "
            f"most {MAX_VALUE:g}"
        )


def for_kernels(array: npt.NDArray[Any], dtype: type[np.generic]) -> Any:  # noqa: ANN401 - array
    """Return an array as kernels were compiled for: contiguous, writable and of this type."""
    return np.require(array, np.dtype(dtype), ["C", "W"])


def in_order(rows: Rows) -> Rows:
    """Return rows whose terms rise; values of a term that occurs twice in a row are added."""
    starts, terms, values = rows
    rising: Bools = terms[1:] > terms[:-1]
    between = starts[1:-1]
    rising[between[(between > 0) & (between < len(terms))] - 1] = True
    if rising.all():
        return rows
    row: Longs = np.repeat(np.arange(len(rows)), np.diff(starts))
    order = np.lexsort((terms, row))
    row, terms, values = row[order], terms[order], values[order]
    first = np.flatnonzero(np.r_[True, (row[1:] != row[:-1]) | (terms[1:] != terms[:-1])])
    starts = np.searchsorted(row[first], np.arange(len(rows) + 1))
    return Rows(starts, terms[first], np.add.reduceat(values, first))


def without_zeros(rows: Rows) -> Rows:
    """Return the rows without values of 0: the document does not have such a term."""
    if np.count_nonzero(rows.values) == len(rows.values):
        return rows
    return kept(rows, rows.values != 0.0)


def kept(rows: Rows, keep: Bools) -> Rows:
    """Return the rows with only some of their entries."""
    before: Longs = np.zeros(len(keep) + 1, np.int64)
    np.cumsum(keep, out=before[1:])
    return Rows(before[rows.starts], rows.terms[keep], rows.values[keep])
