"""What learners that are used from Python share: they number the names of terms themselves.

Inside, terms and topics are numbers. The engine numbers them for its lanes. A learner that is used
by hand has its own numbers, in `names`. Use one or the other: the engine does not know `names`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from learners.arrays import Floats, Ints
from learners.foreign_matrix import REAL_KINDS, check_values, kept, read_matrix
from learners.learner import Learner
from learners.rankings import Name
from learners.scores import RowScores
from learners.segment import Rows, Segment, Steps
from learners.unit_length import unit_length

Document = Mapping[Any, float]
# A matrix with one row per document (of scipy, numpy or pandas), or a list of dictionaries.
Documents = Any


class DocumentError(ValueError):
    """A document or label that cannot be used; the message says what was found and expected."""


@dataclass(slots=True)
class Names:
    """The names of terms and topics, each with its number.

    The terms of matrices are their columns. They have no other names, only their `columns`.
    """

    terms: dict[Name, int] = field(default_factory=dict)
    topics: dict[Name, int] = field(default_factory=dict)
    columns: int | None = None  # None: documents are dictionaries, or nothing was learned yet

    @property
    def term_count(self) -> int:
        """How many terms there are."""
        return len(self.terms) if self.columns is None else self.columns


class NamedLearner(Learner):
    """A learner that takes documents as dictionaries, or as rows of a matrix."""

    @cached_property
    def names(self) -> Names:
        """The names of terms and topics; created when the learner is first used by hand."""
        for option in self.options:
            option.check(getattr(self, option.name), type(self).__name__)
        return Names()

    @property
    def is_used_by_hand(self) -> bool:
        """Whether it has names; a lane of an engine has none."""
        return "names" in self.__dict__

    def __getstate__(self) -> dict[str, Any]:
        """What copies of the learner are made from, without room for terms to come."""
        return {
            "options": {option.name: getattr(self, option.name) for option in self.options},
            "norm": self.norm,
            "names": self.names if self.is_used_by_hand else None,
            "state": self.state(),
        }

    def __setstate__(self, saved: dict[str, Any]) -> None:
        type(self).__init__(self, **saved["options"])
        self.norm = saved["norm"]
        if saved["names"] is not None:
            self.__dict__["names"] = saved["names"]
        self.restore(saved["state"])

    def _follow_rows(self, rows: Rows, steps: Steps, topics: int, scores: RowScores) -> None:
        """Rank and learn rows whose terms have numbers."""
        self.follow(Segment(rows, steps, self.names.term_count, topics), scores)

    def _rows_to_rank(self, documents: Documents) -> Rows:
        """The documents as scaled rows. Terms that are not known are left out after scaling."""
        if not is_dictionaries(documents):
            return self._matrix_rows(documents)
        self._check_no_columns()
        numbers = self.names.terms
        rows = dictionary_rows(documents, [numbers.get(term, -1) for term in terms_of(documents)])
        known = rows.terms >= 0
        return self._scaled(rows) if known.all() else kept(self._scaled(rows), known)

    def _rows_to_learn(self, documents: Documents) -> Rows:
        """The documents as scaled rows. New terms get numbers."""
        if not is_dictionaries(documents):
            return self._matrix_rows(documents)
        self._check_no_columns()
        numbers = self.names.terms
        values = checked_values(documents)  # before any term gets a number
        terms = [numbers.setdefault(term, len(numbers)) for term in terms_of(documents)]
        return self._scaled(dictionary_rows(documents, terms, values))

    def _matrix_rows(self, documents: Documents) -> Rows:
        rows, columns = read_matrix(documents)
        names = self.names
        if names.terms:
            raise DocumentError(
                "This learner has learned documents as dictionaries, whose terms are not columns. "
                "Give it dictionaries, or use another learner for matrices."
            )
        if names.columns is None:
            names.columns = columns
        if names.columns != columns:
            raise DocumentError(
                f"X has {columns} columns, but this learner has learned matrices with "
                f"{names.columns} columns. Use the same vectorizer for all documents."
            )
        return self._scaled(rows)

    def _check_no_columns(self) -> None:
        if self.names.columns is not None:
            raise DocumentError(
                "This learner has learned the rows of matrices, whose columns have no names. "
                "Give it rows of the same matrix, or use another learner for dictionaries."
            )

    def _scaled(self, rows: Rows) -> Rows:
        if self.norm != "l2":
            return rows
        return Rows(rows.starts, rows.terms, unit_length(rows))


def one(document: Document) -> list[Document]:
    """Return one document as a list; `DocumentError` unless it is a dictionary."""
    if not isinstance(document, Mapping):
        raise DocumentError(f"A document must be {{term: value}}. Got {document!r:.80}.")
    return [document]


def is_dictionaries(documents: Documents) -> bool:
    """Return whether documents are a list of dictionaries and not a matrix."""
    return isinstance(documents, list | tuple) and (
        not documents or isinstance(documents[0], Mapping)
    )


def terms_of(documents: Sequence[Document]) -> list[Name]:
    """The terms of all documents, one after another."""
    return [term for document in documents for term in document]


def checked_values(documents: Sequence[Document]) -> Floats:
    """The values of all documents, one after another; `DocumentError` if one is no number."""
    given = [value for document in documents for value in document.values()]
    array = np.array(given)
    if array.dtype.kind not in REAL_KINDS or array.ndim > 1:
        wrong = next((v for v in given if not isinstance(v, int | float | np.number)), given[0])
        raise DocumentError(
            f"A document has the value {wrong!r:.80}, expected a number for each of its terms."
        )
    values: Floats = array.astype(np.float64)
    check_values(values, "a document")
    return values


def dictionary_rows(
    documents: Sequence[Document], terms: Sequence[int], values: Floats | None = None
) -> Rows:
    """The documents as rows with these terms, in the order of the dictionaries."""
    if values is None:
        values = checked_values(documents)
    starts = np.zeros(len(documents) + 1, np.int64)
    np.cumsum([len(document) for document in documents], out=starts[1:])
    numbers: Ints = np.array(terms, np.int32)
    rows = Rows(starts, numbers, values)
    return rows if values.all() else kept(rows, values != 0.0)
