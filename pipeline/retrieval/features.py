"""The features of a document: the normalised scores of functions, as values or as bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learners.arrays import Floats
from learners.svm_map.features import BinnedItems, DenseItems, Items
from pipeline.errors import UsageError
from pipeline.retrieval.normalisation import (
    CUTS,
    MOST_CUTS,
    NORMALISATIONS,
    binned,
    even_cuts,
    normalised,
)
from pipeline.retrieval.query_sets import QuerySet


@dataclass(frozen=True, slots=True)
class Form:
    """How the scores of functions become features: a normalisation, and a number of cuts.

    With 0 cuts the normalised values are the features, and a missing value counts as 0.
    """

    normalise: str = "minmax"
    cuts: int = CUTS

    def __post_init__(self) -> None:
        if self.normalise not in NORMALISATIONS:
            known = ", ".join(NORMALISATIONS)
            raise UsageError(f"there is no normalisation {self.normalise!r}; choose one of {known}")
        if not 0 <= self.cuts <= MOST_CUTS:
            raise UsageError(f"expected 0 to {MOST_CUTS} cuts per function, found {self.cuts}")

    def text(self) -> str:
        """The form as text, for tables."""
        return f"{self.normalise}, {f'{self.cuts} cuts' if self.cuts else 'values'}"


@dataclass(frozen=True, slots=True)
class Description:
    """A form with its cuts (functions x cuts), which are learned from the training queries."""

    form: Form
    cuts: Floats

    @classmethod
    def fitted(cls, form: Form, values: Floats) -> Description:
        """The description with cuts for the normalised values of the training queries."""
        return cls(form, even_cuts(values, form.normalise, form.cuts))

    @property
    def width(self) -> int:
        """The number of features per document."""
        return len(self.cuts) * max(1, self.form.cuts)

    def items(self, values: Floats) -> Items:
        """The features of documents with these normalised values."""
        if not self.form.cuts:
            return DenseItems(np.nan_to_num(values))
        return BinnedItems(binned(values, self.cuts), self.form.cuts)

    def of(self, queries: QuerySet) -> Items:
        """The features of all documents of a query-document set."""
        return self.items(normalised(queries, self.form.normalise))
