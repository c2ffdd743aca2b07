"""Memory that shards on one machine share, to take a segment together.

Everything in it can be computed again: a shard that starts over writes the same numbers to the same
places. So it needs no protection from a shard that is killed. What counts is in the topic.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from learners.arrays import Floats, Ints, Longs
from learners.barrier import SPACING
from learners.prototypes.mmp_slice import Meeting

MAX_LABELS = 1 << 16  # of a segment
MAX_FOUND_BYTES = 1 << 20  # of the best topics of a shard, see `rankings_payload`
BEFORE_BYTES = 8 * MAX_LABELS
LINE_BYTES = 8 * SPACING


class SharedArrays(NamedTuple):
    """The memory, as arrays. Only the shard itself writes to its row."""

    barrier: Longs
    credentials: npt.NDArray[np.uint8]  # shards x bytes: which segment a shard takes, and how
    sizes: Longs  # shards x payloads x line: bytes of each payload
    leads: Floats  # labels: see `Meeting`
    counts: Ints  # shards x labels
    found: npt.NDArray[np.uint8]  # shards x bytes: payload 0
    before: npt.NDArray[np.uint8]  # shards x bytes: payload 1

    @property
    def meeting(self) -> Meeting:
        """What the kernel of MMP needs of it."""
        return Meeting(self.barrier, self.leads, self.counts)


class MeetingPlace(Protocol):
    """A shard's access to the memory."""

    arrays: SharedArrays

    def everyone_is_here(self) -> bool:
        """Whether all shards have access to it now."""


def shapes_of(shards: int) -> list[tuple[tuple[int, ...], npt.DTypeLike]]:
    """Shape and type of each array; every one begins in a cache line of its own."""
    return [
        (((shards + 1) * SPACING,), np.int64),
        ((shards, LINE_BYTES), np.uint8),
        ((shards, SPACING), np.int64),
        ((MAX_LABELS,), np.float64),
        ((shards, MAX_LABELS), np.int32),
        ((shards, MAX_FOUND_BYTES), np.uint8),
        ((shards, BEFORE_BYTES), np.uint8),
    ]


def bytes_for(shards: int) -> int:
    """How much memory so many shards need."""
    return sum(int(np.prod(shape)) * np.dtype(kind).itemsize for shape, kind in shapes_of(shards))


def arrays_in(memory: memoryview | bytearray, shards: int) -> SharedArrays:
    """The arrays in memory of at least `bytes_for(shards)` bytes."""
    arrays, offset = [], 0
    for shape, kind in shapes_of(shards):
        count = int(np.prod(shape))
        arrays.append(np.frombuffer(memory, kind, count, offset).reshape(shape))
        offset += arrays[-1].nbytes
    return SharedArrays(*arrays)


class ThreadPlace:
    """A place where shards meet that are threads of one process."""

    def __init__(self, shards: int) -> None:
        self.arrays = arrays_in(bytearray(bytes_for(shards)), shards)

    def everyone_is_here(self) -> bool:
        """They always are."""
        return True
