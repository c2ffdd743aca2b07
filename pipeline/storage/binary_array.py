"""Many byte strings in one array, so that kernels need no list of Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from learners.arrays import Bytes, Longs

Numbers = TypeVar("Numbers", Bytes, Longs)


class BinaryArray(NamedTuple):
    """Byte strings stored one after another, as in Apache Arrow.

    String `i` is `data[offsets[i] : offsets[i + 1]]`.
    """

    data: Bytes
    offsets: Longs  # one more than there are strings; the first is 0

    @classmethod
    def from_strings(cls, strings: Sequence[bytes]) -> BinaryArray:
        """Copy the strings into one array."""
        offsets = np.zeros(len(strings) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(strings), np.uint8), offsets)

    def size_of(self, i: int) -> int:
        """Return the length of string `i`."""
        return int(self.offsets[i + 1] - self.offsets[i])

    def since(self, first: int) -> BinaryArray:
        """Return the strings from number `first` on."""
        start = self.offsets[first]
        return BinaryArray(self.data[start:], self.offsets[first:] - start)

    def to_strings(self) -> list[bytes]:
        """Return each string as a `bytes` object."""
        data = self.data.tobytes()
        return [data[start:stop] for start, stop in pairwise(self.offsets.tolist())]


class BinaryArrayBuilder:
    """Appends strings to a binary array. Capacity doubles, so small additions stay cheap."""

    def __init__(self) -> None:
        self._data: Bytes = np.zeros(64, np.uint8)
        self._offsets: Longs = np.zeros(16, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def array(self) -> BinaryArray:
        """The strings so far, as views of the builder's memory."""
        offsets = self._offsets[: self._count + 1]
        return BinaryArray(self._data[: offsets[-1]], offsets)

    def append(self, strings: Sequence[bytes]) -> None:
        """Add strings at the end."""
        new, start = BinaryArray.from_strings(strings), self._offsets[self._count]
        self._data = with_capacity(self._data, start + len(new.data))
        self._offsets = with_capacity(self._offsets, self._count + len(strings) + 1)
        self._data[start : start + len(new.data)] = new.data
        self._offsets[self._count : self._count + len(new.offsets)] = start + new.offsets
        self._count += len(strings)


def with_capacity(array: Numbers, needed: int) -> Numbers:
    """Return the array, or a copy of at least twice its length if `needed` exceeds its length."""
    if needed <= len(array):
        return array
    longer = np.zeros(max(needed, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer
