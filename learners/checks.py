"""Checks of arrays that come from outside the process, before a kernel sees them.

A checksum proves that a file or record is as it was written, not that its writer was right. Kernels
check no index: one that is too large reads or overwrites foreign memory. So everything that is read
from a log, a snapshot or another process is checked here: type, shape, range, order, and that the
indices of one array exist in another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Bytes, Floats, Ints, Longs

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]

MAX_COUNT = 1 << 53  # of rounds, documents and so on; exact as a floating-point number too
AT_ONCE = 1 << 20  # numbers that are checked at a time, so that a large array needs no second one


class InvalidArrayError(ValueError):
    """An array that cannot be used; the message names it, and says what was found and expected."""


def array_of(arrays: Arrays, name: str, dtype: type[np.generic], *shape: int | None) -> Array:
    """Return an array after a check of its type and shape; a length of None may be any length."""
    array = arrays.get(name)
    if array is None:
        raise InvalidArrayError(f"array {name} is missing")
    if array.dtype != dtype:
        expected = np.dtype(dtype).name
        raise InvalidArrayError(f"array {name} has type {array.dtype.name}, expected {expected}")
    check_shape(name, array, *shape)
    return array


def check_shape(name: str, array: Array, *shape: int | None) -> None:
    """Raise `InvalidArrayError` unless the array has this shape."""
    same = array.ndim == len(shape)
    if not same or any(w is not None and n != w for n, w in zip(array.shape, shape, strict=True)):
        expected = " x ".join("any" if n is None else str(n) for n in shape) or "one number"
        found = " x ".join(map(str, array.shape)) or "one number"
        raise InvalidArrayError(f"array {name} has shape {found}, expected {expected}")


def floats(arrays: Arrays, name: str, *shape: int | None) -> Floats:
    """Return an array of finite numbers."""
    array = array_of(arrays, name, np.float64, *shape)
    check_finite(name, array)
    return array


def longs(
    arrays: Arrays, name: str, *shape: int | None, least: int = 0, below: int = MAX_COUNT
) -> Longs:
    """Return an array of integers from `least` up to, but not including, `below`."""
    array = array_of(arrays, name, np.int64, *shape)
    check_range(name, array, least, below)
    return array


def ints(
    arrays: Arrays, name: str, *shape: int | None, least: int = 0, below: int = MAX_COUNT
) -> Ints:
    """Return an array of 32-bit integers from `least` up to, but not including, `below`."""
    array = array_of(arrays, name, np.int32, *shape)
    check_range(name, array, least, below)
    return array


def bools(arrays: Arrays, name: str, *shape: int | None) -> Bools:
    """Return an array of truth values. A byte other than 0 and 1 would be neither."""
    array = array_of(arrays, name, np.bool_, *shape)
    check_range(name, array.view(np.uint8), 0, 2)
    return array


def letters(arrays: Arrays, name: str) -> Bytes:
    """Return an array of bytes."""
    return array_of(arrays, name, np.uint8, None)


def count_of(arrays: Arrays, name: str) -> int:
    """Return a single number that counts something."""
    return int(longs(arrays, name))


def starts(arrays: Arrays, name: str, total: int, rows: int | None = None) -> Longs:
    """Return the starts of consecutive parts of `total` elements; one more than there are parts."""
    array = longs(arrays, name, None if rows is None else rows + 1)
    check_starts(name, array, total)
    return array


def check_starts(name: str, array: Array, total: int) -> None:
    """Raise `InvalidArrayError` unless the numbers go from 0 to `total` and never fall."""
    if not len(array) or array[0] != 0 or array[-1] != total:
        ends = f"go from {array[0]} to {array[-1]}" if len(array) else "are none"
        raise InvalidArrayError(f"the numbers of array {name} {ends}, expected from 0 to {total}")
    check_order(name, array)


def check_range(name: str, array: Array, least: int, below: int) -> None:
    """Raise `InvalidArrayError` unless all numbers are from `least` up to `below` - 1."""
    if array.size and not (least <= int(array.min()) and int(array.max()) < below):
        found = f"{array.min()} to {array.max()}"
        raise InvalidArrayError(
            f"array {name} has numbers from {found}, expected {least} to {below - 1}"
            if below > least
            else f"array {name} has {array.size} numbers, expected none"
        )


def check_extent(name: str, found: int, most: int, what: str) -> None:
    """Raise `InvalidArrayError` if an array is for more terms or topics than there are."""
    if found > most:
        raise InvalidArrayError(f"array {name} is for {found} {what}, but there are only {most}")


def check_order(name: str, array: Array) -> None:
    """Raise `InvalidArrayError` if a number is below the one before it."""
    # A difference of unsigned numbers is never negative, so neighbours are compared instead.
    falls = np.flatnonzero(array[1:] < array[:-1])
    if len(falls):
        i = int(falls[0])
        raise InvalidArrayError(
            f"array {name} falls from {array[i]} to {array[i + 1]} at index {i + 1}, expected "
            "numbers that never fall"
        )


def check_finite(name: str, array: Array) -> None:
    """Raise `InvalidArrayError` if a number is infinite or not a number."""
    for start, part in parts_of(array):
        wrong = np.flatnonzero(~np.isfinite(part))
        if len(wrong):
            place = start + int(wrong[0])
            raise InvalidArrayError(
                f"array {name} has {part[wrong[0]]} at index {place}, expected finite numbers"
            )


def check_between(name: str, array: Array, least: float, most: float = math.inf) -> None:
    """Raise `InvalidArrayError` unless all numbers are from `least` to `most`."""
    if array.size and not least <= array.min() <= array.max() <= most:
        found = f"{array.min()} to {array.max()}"
        raise InvalidArrayError(
            f"array {name} has numbers from {found}, expected {least:g} to {most:g}"
        )


def parts_of(array: Array) -> Iterator[tuple[int, Array]]:
    """Yield the numbers of an array in parts, each with the index of its first number."""
    flat = array.reshape(-1)
    for start in range(0, len(flat), AT_ONCE):
        yield start, flat[start : start + AT_ONCE]
