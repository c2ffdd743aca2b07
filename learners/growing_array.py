"""Arrays that grow: room is reserved far ahead, so that growing costs little in the long run.

Room that nothing was written to takes no memory: the system provides pages when they are first
written. So a matrix of weights has room for many more terms than there are, and is moved only a few
times in the life of a model.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Longs

LINE = 8  # numbers per cache line
ROWS_AHEAD = 1 << 16
ROWS_AT_ONCE = 1 << 10
NUMBERS_AHEAD = 1 << 25  # the room ahead is at most a quarter of a gigabyte


class GrowingArray:
    """A vector or matrix of numbers, zero where nothing was written.

    Kernels work on `room`, whose rows are whole cache lines; `view` is the part in use.
    """

    def __init__(self, directions: int) -> None:
        self.shape: tuple[int, ...] = (0,) * directions
        self.room: Floats = np.zeros(self.shape)

    @property
    def view(self) -> Floats:
        """The part in use."""
        return self.room[tuple(slice(n) for n in self.shape)]

    @property
    def words(self) -> npt.NDArray[np.uint64]:
        """The bits of all numbers, for hashes."""
        return self.room.view(np.uint64)

    @property
    def nbytes(self) -> int:
        """Memory of the part in use."""
        return self.view.nbytes

    def grow(self, *shape: int) -> None:
        """Extend the part in use to at least this shape."""
        old = self.view
        self.shape = tuple(max(pair) for pair in zip(shape, self.shape, strict=True))
        if any(n > have for n, have in zip(self.shape, self.room.shape, strict=True)):
            self.room = zeros_in_lines(self._layout())
            self.room[tuple(slice(n) for n in old.shape)] = old

    def _layout(self) -> tuple[int, ...]:
        """The shape of the new room: doubled where there was too little, with many rows ahead."""
        layout = [
            have if n <= have else -(-max(n, 2 * have) // LINE) * LINE
            for n, have in zip(self.shape, self.room.shape, strict=True)
        ]
        width = math.prod(layout[1:])
        layout[0] = max(layout[0], min(ROWS_AHEAD, NUMBERS_AHEAD // max(width, 1)))
        return tuple(layout)

    def keep(self, rows: Longs) -> None:
        """Keep only these rows (ascending); numbers past the last row are ignored."""
        rows = rows[rows < self.shape[0]]
        # Every row moves up or stays, so rows can be moved in place, many at once.
        for start in range(0, len(rows), ROWS_AT_ONCE):
            stop = min(start + ROWS_AT_ONCE, len(rows))
            self.view[start:stop] = self.view[rows[start:stop]]
        self.view[len(rows) :] = 0.0
        self.shape = (len(rows), *self.shape[1:])

    def copy(self) -> Floats:
        """A copy of the part in use."""
        return self.view.copy()

    def load(self, array: npt.NDArray[np.generic]) -> None:
        """Become a copy of an array."""
        self.shape = (0,) * array.ndim
        self.room = np.zeros(self.shape)
        self.grow(*array.shape)
        self.view[...] = array


def zeros_in_lines(shape: tuple[int, ...]) -> Floats:
    """Zeros that start at a cache line, so that rows of whole lines straddle no other line."""
    count = math.prod(shape)
    buffer = np.zeros(count + LINE)
    skipped = -buffer.ctypes.data // buffer.itemsize % LINE
    return buffer[skipped : skipped + count].reshape(shape)
