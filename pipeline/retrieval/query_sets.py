"""Queries with the documents that were scored for them, and how relevant each is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from learners.arrays import Bools, Floats, Longs


@dataclass(frozen=True)
class QuerySet:
    """The documents of query q are those from `starts[q]` up to `starts[q + 1]`.

    Documents of equal score are ranked in the order in which they are listed here.
    """

    functions: tuple[str, ...]
    queries: tuple[str, ...]
    parts: tuple[str, ...]  # the file that each query is from, where that means something
    starts: Longs
    documents: tuple[str, ...]
    grades: Longs  # 0 or less: not relevant
    values: Floats  # documents x functions; NaN where a function did not score the document
    known: tuple[Longs, ...]  # of each query the grades of all its relevant documents, falling

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def relevant(self) -> Bools:
        """Of each document, whether it is."""
        return self.grades > 0

    @property
    def lengths(self) -> Longs:
        """How many documents each query has."""
        return np.diff(self.starts)

    def with_relevant(self) -> Longs:
        """The queries that have a relevant document, scored or not."""
        return np.flatnonzero([len(grades) > 0 for grades in self.known])

    def some(self, chosen: Sequence[int] | Longs) -> QuerySet:
        """These queries alone, in this order."""
        places = np.asarray(chosen, np.int64)
        lengths = self.lengths[places]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        rows = np.repeat(self.starts[places] - starts[:-1], lengths) + np.arange(starts[-1])
        return QuerySet(
            self.functions,
            tuple(self.queries[q] for q in places),
            tuple(self.parts[q] for q in places),
            starts,
            tuple(self.documents[row] for row in rows),
            self.grades[rows],
            self.values[rows],
            tuple(self.known[q] for q in places),
        )


def known_grades(starts: Longs, grades: Longs) -> tuple[Longs, ...]:
    """The grades of the relevant documents of each query, falling, if all were scored."""
    found = []
    for start, stop in pairwise(starts):
        some = np.sort(grades[start:stop])[::-1]
        found.append(some[some > 0])
    return tuple(found)
