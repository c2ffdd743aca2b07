"""The documents of queries as a stream: the scores of functions are the features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import orjson

from pipeline.corpora.source import SourceError
from pipeline.events.event import MAX_FEATURE_VALUE, MIN_FEATURE_VALUE
from pipeline.retrieval.normalisation import NORMALISATIONS, normalised
from pipeline.retrieval.query_sets import QuerySet


class QueryDocumentStream:
    """Source of the documents of a query-document set, query by query.

    The rank of a document is its relevance grade plus 1. Missing scores and values of 0 are left
    out of its features.
    """

    def __init__(self, queries: QuerySet, normalise: str) -> None:
        if normalise not in NORMALISATIONS:
            known = ", ".join(NORMALISATIONS)
            raise SourceError(f"normalise={normalise!r} is unknown; choose one of {known}")
        self.queries = queries
        self._normalise = normalise

    @property
    def topics(self) -> Sequence[str]:
        """Empty: the labels are ranks."""
        return ()

    @property
    def total(self) -> int:
        """The number of documents."""
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
