"""A stretch of the log as learners see it: sparse vectors, and what happens to them in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs


@dataclass(frozen=True, slots=True)
class Rows:
    """Sparse vectors in compressed rows: row i is `terms[starts[i]:starts[i + 1]]` and values."""

    starts: Longs
    terms: Ints
    values: Floats

    def __len__(self) -> int:
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
        """The rows with only the chosen terms (ascending), numbered anew in their order."""
        place = np.searchsorted(chosen, self.terms)
        place[place == len(chosen)] = 0  # past the last: whatever is there, it is another term
        keep = chosen[place] == self.terms if len(chosen) else np.zeros(len(place), np.bool_)
        starts = np.concatenate(([0], np.cumsum(keep)))[self.starts]
        return Rows(starts, place[keep].astype(np.int32), self.values[keep])


@dataclass(frozen=True, slots=True)
class Steps:
    """What happens to the rows, in log order: one is ranked, or its labels come and it is learned.

    A labelled document is two steps, one after the other. A late label is a second step that
    comes long after the first.
    """

    row: Ints
    learn: Bools  # False: rank the row; True: its labels are here
    known: Ints  # topics that exist at this step; at a learning step its own labels included
    label_starts: Longs
    labels: Ints  # the relevant topics of the learning steps

    def __len__(self) -> int:
        return len(self.row)

    def between(self, start: int, stop: int) -> Steps:
        """The steps from `start` up to `stop`; their labels stay where they are."""
        some = slice(start, stop)
        starts = self.label_starts[start : stop + 1]
        return Steps(self.row[some], self.learn[some], self.known[some], starts, self.labels)


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows and steps between two changes of the vocabulary."""

    rows: Rows
    steps: Steps
    terms: int  # every term of the rows is below this
    topics: int  # every topic of the steps is below this

    def between(self, start: int, stop: int) -> Segment:
        """The same rows with only some of the steps."""
        return Segment(self.rows, self.steps.between(start, stop), self.terms, self.topics)
