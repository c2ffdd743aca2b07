"""Arrays that grow: room is made in doublings, so that growing costs little in the long run."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", np.float64, np.int64)


def room_for(needed: int, have: int) -> int:
    """How long an axis becomes: as it is if that is enough, else doubled, in whole cache lines."""
    return have if needed <= have else -(-max(needed, 2 * have) // 8) * 8


def roomy(array: npt.NDArray[Number], needed: tuple[int, ...]) -> npt.NDArray[Number]:
    """`array` itself if it is large enough in every direction, else a larger copy, zero outside."""
    if all(n <= have for n, have in zip(needed, array.shape, strict=True)):
        return array
    shape = tuple(room_for(n, have) for n, have in zip(needed, array.shape, strict=True))
    larger = aligned_zeros(shape, array.dtype)
    larger[tuple(slice(have) for have in array.shape)] = array
    return larger


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Number]) -> npt.NDArray[Number]:
    """Zeros that start at a cache line, so that reading rows of whole lines straddles none."""
    count = math.prod(shape)
    buffer = np.zeros(count + 8, dtype)
    skipped = -buffer.ctypes.data // dtype.itemsize % 8
    return buffer[skipped : skipped + count].reshape(shape)


def fitted(array: npt.NDArray[Number], shape: tuple[int, ...]) -> npt.NDArray[Number]:
    """A copy of exactly this shape, cut or filled with zeros."""
    copy = np.zeros(shape, array.dtype)
    both = tuple(slice(min(n, have)) for n, have in zip(shape, array.shape, strict=True))
    copy[both] = array[both]
    return copy
