"""A query-document set of two queries and five documents."""

from __future__ import annotations

import numpy as np

from pipeline.retrieval.query_sets import QuerySet, known_grades

NOT = float("nan")


def two_queries() -> QuerySet:
    """The second has scores a thousand times as large."""
    values = np.array([[1.0, 5.0], [2.0, NOT], [5.0, 5.0], [9000.0, NOT], [1000.0, -4.0]])
    starts, grades = np.array([0, 3, 5]), np.array([0, 1, 0, 2, 0])
    known = known_grades(starts, grades)
    names = tuple("edcba")
    return QuerySet(("f", "g"), ("1", "2"), ("", ""), starts, names, grades, values, known)
