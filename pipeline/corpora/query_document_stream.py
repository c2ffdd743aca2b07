"""Documents of queries as a stream of ranks: what functions say of each is its vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import orjson

from pipeline.corpora.source import SourceError
from pipeline.events.event import MAX_FEATURE_VALUE, MIN_FEATURE_VALUE
from pipeline.retrieval.normalisation import NORMALISATIONS, normalised
from pipeline.retrieval.query_sets import QuerySet


class QueryDocumentStream:
    """Source of the documents of a query-document set, query by query; a rank is a grade plus 1.

    A function that does not score a document is left out of its vector, as is a value of 0.
    """

    def __init__(self, queries: QuerySet, normalise: str) -> None:
        if normalise not in NORMALISATIONS:
            known = ", ".join(NORMALISATIONS)
            raise SourceError(f"there is no normalise={normalise!r}; choose one of {known}")
        self.queries = queries
        self._normalise = normalise

    @property
    def topics(self) -> Sequence[str]:
        """There are none: the labels are ranks."""
        return ()

    @property
    def total(self) -> int:
        """How many documents there are."""
        return len(self.queries.documents)

    def __iter__(self) -> Iterator[bytes]:
        queries, names = self.queries, self.queries.functions
        values = normalised(queries, self._normalise)
        size = np.abs(values)
        values[~((size >= MIN_FEATURE_VALUE) & (size <= MAX_FEATURE_VALUE))] = 0.0
        for query, start, stop in zip(
            queries.queries, queries.starts[:-1], queries.starts[1:], strict=True
        ):
            for row in range(start, stop):
                features = {names[f]: values[row, f] for f in np.flatnonzero(values[row]).tolist()}
                yield orjson.dumps(
                    {
                        "id": f"{query}-{queries.documents[row]}",
                        "features": features,
                        "rank": int(queries.grades[row]) + 1,
                    },
                    option=orjson.OPT_SERIALIZE_NUMPY,
                )
