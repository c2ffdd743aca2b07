"""A segment of the log as learners see it: sparse vectors, and what happens to them in order.

`Rows` and `Steps` are NamedTuples of arrays, so that they go straight into kernels. Kernels unpack
them before their loops, because every use of a tuple counts references to its arrays. Methods are
not visible in kernels; `row_of` and `labels_of` do there what methods do outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit


class Rows(NamedTuple):
    """Sparse vectors in compressed rows: row i is `terms[starts[i]:starts[i + 1]]` and values."""

    starts: Longs
    terms: Ints
    values: Floats

    def __len__(self) -> int:
        """The number of rows, not of fields."""
        return len(self.starts) - 1

    def row(self, i: int) -> tuple[Ints, Floats]:
        """The terms and values of row i, as views."""
        start, stop = self.starts[i], self.starts[i + 1]
        return self.terms[start:stop], self.values[start:stop]

    def between(self, start: int, stop: int) -> Rows:
        """The rows from `start` up to `stop`."""
        first, last = self.starts[start], self.starts[stop]
        starts = self.starts[start : stop + 1] - first
        return Rows(starts, self.terms[first:last], self.values[first:last])

    def restricted(self, chosen: Longs) -> Rows:
        """The rows with only the chosen terms (ascending), which are renumbered from 0."""
        place = np.searchsorted(chosen, self.terms)
        place[place == len(chosen)] = 0  # past the last chosen term: compare with any other one
        keep = chosen[place] == self.terms if len(chosen) else np.zeros(len(place), np.bool_)
        starts = np.concatenate(([0], np.cumsum(keep)))[self.starts]
        return Rows(starts, place[keep].astype(np.int32), self.values[keep])


class Steps(NamedTuple):
    """What happens to the rows, in log order: a row is ranked, or it is learned with its labels.

    A labelled document is two steps, one right after the other. With a late label, the second
    step comes long after the first.
    """

    row: Ints
    learn: Bools  # False: rank the row; True: learn it
    known: Ints  # topics that exist at this step, including the labels of a learning step
    label_starts: Longs  # step i has `labels[label_starts[i]:label_starts[i + 1]]`
    labels: Ints  # the relevant topics of the learning steps
    ranked: Ints  # topics in the ranking that is measured: all that are known, none if it was empty

    def __len__(self) -> int:
        """The number of steps, not of fields."""
        return len(self.row)

    def label_count(self) -> int:
        """How many labels the steps have."""
        return int(self.label_starts[-1] - self.label_starts[0])

    def between(self, start: int, stop: int) -> Steps:
        """The steps from `start` up to `stop`, as views; `labels` stays whole."""
        some = slice(start, stop)
        starts = self.label_starts[start : stop + 1]
        return Steps(
            self.row[some], self.learn[some], self.known[some], starts, self.labels,
            self.ranked[some],
        )  # fmt: skip


@njit
def row_of(starts: Longs, terms: Ints, values: Floats, row: int) -> tuple[Ints, Floats]:
    """The terms and values of a row, as views."""
    start, stop = starts[row], starts[row + 1]
    return terms[start:stop], values[start:stop]


@njit
def labels_of(label_starts: Longs, labels: Ints, step: int) -> Ints:
    """The labels of a step, as a view; none of a ranking step."""
    return labels[label_starts[step] : label_starts[step + 1]]


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows and steps between two changes of the vocabulary, which numbers the terms."""

    rows: Rows
    steps: Steps
    terms: int  # every term of the rows is below this
    topics: int  # every topic of the steps is below this

    def between(self, start: int, stop: int) -> Segment:
        """All rows, with only the steps from `start` up to `stop`."""
        return Segment(self.rows, self.steps.between(start, stop), self.terms, self.topics)
