"""Structured mutations of arrays and JSON values, for tests of what is read from outside.

The result is packed with a correct checksum: only the checks of content can notice it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.storage.container import TYPES

Array = npt.NDArray[Any]

ODD_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**62, 2**63, 1.5, -1e308, "", "x", [], [None], {}, {"a": None},
)  # fmt: skip


def mutated_arrays(array: Array) -> Iterator[tuple[str, Array]]:
    """Yield changed copies of an array, each with the name of the change."""
    for name in TYPES:
        if name != array.dtype.name:
            with np.errstate(invalid="ignore"):
                yield f"type {name}", array.astype(name)
    yield "one more dimension", array.reshape(*array.shape, 1)
    yield "no dimension", np.zeros((), array.dtype)
    if array.ndim == 0:
        for value in odd_numbers(array.dtype):
            yield f"value {value}", np.array(value, array.dtype)
        return
    yield "empty", array[:0]
    yield "one longer", np.concatenate((array, np.zeros((1, *array.shape[1:]), array.dtype)))
    yield "twice", np.concatenate((array, array))
    if not len(array):
        return
    yield "last cut off", array[:-1]
    yield "first cut off", array[1:]
    if array.ndim > 1:
        yield "last column cut off", array[:, :-1]
        yield "one more column", np.concatenate((array, array[:, :1]), axis=1)
        yield "transposed", array.T.copy()
        yield "flat", array.reshape(-1)
    yield "reversed", array[::-1].copy()
    if not array.size:
        return
    for place in sorted({0, array.size // 2, array.size - 1}):
        for value in odd_numbers(array.dtype):
            changed = array.copy()
            changed.reshape(-1)[place] = value
            yield f"value {value} at {place}", changed


def odd_numbers(dtype: np.dtype[Any]) -> list[Any]:
    """Return extreme values of a type."""
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind == "f":
        return [0.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 2.0**31, 2.0**53]
    limits = np.iinfo(dtype)
    middle = [value for value in (-2, -1, 0, 1, 60_000, 2**31 - 1, 2**53) if value <= limits.max]
    return [limits.min, *(value for value in middle if value >= limits.min), limits.max]
