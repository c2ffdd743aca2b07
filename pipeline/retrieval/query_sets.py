"""Queries, the documents that retrieval functions scored for them, and relevance grades."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from learners.arrays import Bools, Floats, Longs


@dataclass(frozen=True)
class QuerySet:
    """Queries with their documents; those of query q are `starts[q]` to `starts[q + 1] - 1`.

    Documents of equal score are ranked in the order in which they are listed here.
    """

    functions: tuple[str, ...]
    queries: tuple[str, ...]
    parts: tuple[str, ...]  # the file of each query, where files are parts of a collection
    starts: Longs
    documents: tuple[str, ...]
    grades: Longs  # 0 or less: not relevant
    values: Floats  # documents x functions; NaN where a function did not score the document
    known: tuple[Longs, ...]  # per query the grades of all relevant documents, falling

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def relevant(self) -> Bools:
        """Whether each document is relevant."""
        return self.grades > 0

    @property
    def lengths(self) -> Longs:
        """The number of documents per query."""
        return np.diff(self.starts)

    def with_relevant(self) -> Longs:
        """The queries that have a relevant document, scored or not."""
        return np.flatnonzero([len(grades) > 0 for grades in self.known])

    def select(self, chosen: Sequence[int] | Longs) -> QuerySet:
        """A set with only these queries, in this order."""
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
    """The grades of the relevant documents of each query, falling, if all of them were scored."""
    known = []
    for start, stop in pairwise(starts):
        falling = np.sort(grades[start:stop])[::-1]
        known.append(falling[falling > 0])
    return tuple(known)
