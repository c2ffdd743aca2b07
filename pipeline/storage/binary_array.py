"""Many byte strings in one array: what kernels take instead of a list of Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from learners.arrays import Bytes, Longs

Numbers = TypeVar("Numbers", Bytes, Longs)


class Pieces(NamedTuple):
    """Byte strings one after another; string `i` ends where `ends[i + 1]` says."""

    letters: Bytes
    ends: Longs  # one more than there are strings; the first is 0

    def split(self) -> list[bytes]:
        """The strings, each an object of its own."""
        whole = self.letters.tobytes()
        ends = self.ends.tolist()
        return [whole[start:stop] for start, stop in pairwise(ends)]


def pieces(strings: Sequence[bytes]) -> Pieces:
    """The strings in one array."""
    ends = np.zeros(len(strings) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)), out=ends[1:])
    return Pieces(np.frombuffer(b"".join(strings), np.uint8), ends)


class GrowingPieces:
    """Pieces that others join behind; room is doubled, so that many small additions cost little."""

    def __init__(self) -> None:
        self._letters: Bytes = np.zeros(64, np.uint8)
        self._ends: Longs = np.zeros(16, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def pieces(self) -> Pieces:
        """What is there now, as views."""
        ends = self._ends[: self._count + 1]
        return Pieces(self._letters[: ends[-1]], ends)

    def add(self, strings: Sequence[bytes]) -> None:
        """Put strings behind the others."""
        new, start = pieces(strings), self._ends[self._count]
        self._letters = with_room(self._letters, start + len(new.letters))
        self._ends = with_room(self._ends, self._count + len(strings) + 1)
        self._letters[start : start + len(new.letters)] = new.letters
        self._ends[self._count : self._count + len(new.ends)] = start + new.ends
        self._count += len(strings)


def with_room(array: Numbers, wanted: int) -> Numbers:
    """The array, or one that begins with it and has at least twice its room."""
    if wanted <= len(array):
        return array
    longer = np.zeros(max(wanted, 2 * len(array)), array.dtype)
    longer[: len(array)] = array
    return longer
