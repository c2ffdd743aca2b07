"""Many byte strings in one array: what kernels take instead of a list of Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from learners.segment import Longs
from pipeline.terms import Bytes


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
