"""The sizes of a log's records, by a sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class RecordSizes(NamedTuple):
    """The sizes of evenly spaced records; each stands for the records around it.

    Records differ: one that a tokenizer wrote while it caught up has a thousand documents, and one
    of a slow stream has one.
    """

    first: int  # the first offset of the log
    end: int
    sizes: Sequence[float]  # from the oldest to the newest; empty if the log is empty

    @property
    def mean(self) -> float:
        """The mean size of a record; 0 if nothing is known."""
        return sum(self.sizes) / len(self.sizes) if self.sizes else 0.0

    def first_of_newest(self, limit: float) -> int:
        """The first offset of the newest records that have about so many bytes together.

        Examples
        --------
        >>> RecordSizes(0, 100, [1000, 10]).first_of_newest(200)
        80
        >>> RecordSizes(0, 100, [1000, 10]).first_of_newest(10_500)
        40
        >>> RecordSizes(0, 100, [1000, 10]).first_of_newest(1_000_000)
        0

        """
        step = (self.end - self.first) / max(1, len(self.sizes))
        position, left = float(self.end), limit
        for size in reversed(self.sizes):
            if size * step > left:
                return max(self.first, int(position - left / size))
            position, left = position - step, left - size * step
        return self.first
