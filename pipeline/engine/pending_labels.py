"""Match late labels with their documents.

A document without a label waits for it. A label that comes before its document waits too. Both
kinds of waiting are bounded: when there are too many, the oldest is dropped and counted.

A document that has the id of a waiting document replaces it, because a late label can only mean the
newest version. A label whose document is already labelled also waits: it is matched with the next
version of the document, if one comes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.scores import StoredScores

Label = tuple[str, ...] | tuple[int]  # topics, or one rank

NO_TERMS: Ints = np.empty(0, np.int32)
NO_VALUES: Floats = np.empty(0)


@dataclass(slots=True, eq=False)
class PendingDocument:
    """A ranked document that waits for its label: its vector, and its scores from each lane."""

    row: int | None  # its row in the segment that is being built; None after that segment
    terms: Ints = field(default_factory=lambda: NO_TERMS)
    values: Floats = field(default_factory=lambda: NO_VALUES)
    known: int = 0  # labels that were known when it was ranked
    scores: list[StoredScores] = field(default_factory=list)


class PendingLabels:
    """Matches labels with documents by id. The ids 7 and "7" are equal."""

    def __init__(self, max_pending: int = 10_000) -> None:
        self.max_pending = max_pending
        self.documents: dict[str, PendingDocument] = {}  # by id, oldest first
        self.early: dict[str, Label] = {}  # labels without a document, by id, oldest first
        self.expired_documents = 0
        self.unmatched_labels = 0
        self.superseded = 0
        self.ignored_labels = 0  # late labels that have no label of this kind

    def match_label(self, key: str, label: Label) -> PendingDocument | None:
        """Return the document that waits for this late label, and stop its waiting.

        If no document waits, the label waits instead. It replaces an older label of the same id.
        """
        document = self.documents.pop(key, None)
        if document is None:
            self.early.pop(key, None)
            self.early[key] = label
            if len(self.early) > self.max_pending:
                del self.early[next(iter(self.early))]
                self.unmatched_labels += 1
        return document

    def match_document(self, key: str, own_label: Label | None) -> Label | None:
        """Return the label of a new document: its own label, or one that came before it.

        A labelled document also replaces a waiting document of the same id.
        """
        label = own_label
        if self.early and (early := self.early.pop(key, None)) is not None:
            if own_label is None:
                label = early
            else:
                self.unmatched_labels += 1
        if label is not None:
            self._drop_document(key)
        return label

    def add_document(self, key: str, document: PendingDocument) -> None:
        """Let a document wait for its label. It replaces a waiting document of the same id."""
        self._drop_document(key)
        self.documents[key] = document
        if len(self.documents) > self.max_pending:
            del self.documents[next(iter(self.documents))]
            self.expired_documents += 1

    def _drop_document(self, key: str) -> None:
        if self.documents and self.documents.pop(key, None) is not None:
            self.superseded += 1

    def forget(self, keep: Longs) -> None:
        """Renumber the terms of waiting documents after the vocabulary was cut to `keep`."""
        for document in self.documents.values():
            new = np.searchsorted(keep, document.terms)
            new[new == len(keep)] = 0  # above the last kept term: compares unequal below
            stays = keep[new] == document.terms
            document.terms = new[stays].astype(np.int32)
            document.values = document.values[stays]
