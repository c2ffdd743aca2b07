"""Documents that wait for their labels, and labels that came before their document.

Both are bounded: when one more would be too many, the oldest is given up and counted. A document
with the id of a waiting one takes its place, since a late label can only mean the newest. A label
whose document was labelled before waits too, and meets the next version of the document, if any.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.scores import Kept

Label = tuple[str, ...] | tuple[int]  # topics, or one rank

NO_TERMS: Ints = np.empty(0, np.int32)
NO_VALUES: Floats = np.empty(0)


@dataclass(slots=True, eq=False)
class PendingDocument:
    """What is kept of a ranked document: its vector, and the scores each lane ranked it with."""

    row: int | None  # its row, while the stretch of the log that holds it is in work
    terms: Ints = field(default_factory=lambda: NO_TERMS)
    values: Floats = field(default_factory=lambda: NO_VALUES)
    known: int = 0  # topics that existed when it was ranked
    scores: list[Kept] = field(default_factory=list)


class PendingLabels:
    """Matches late labels with documents by id; 7 and "7" are the same id."""

    def __init__(self, max_pending: int = 10_000) -> None:
        self.max_pending = max_pending
        self.documents: dict[str, PendingDocument] = {}
        self.early: dict[str, Label] = {}
        self.expired_documents = 0
        self.unmatched_labels = 0
        self.superseded = 0
        self.ignored_labels = 0  # late ones of another kind alone

    def add_document(self, key: str, document: PendingDocument) -> None:
        """Let a document wait for its labels."""
        self.drop_document(key)
        self.documents[key] = document
        if len(self.documents) > self.max_pending:
            del self.documents[next(iter(self.documents))]
            self.expired_documents += 1

    def drop_document(self, key: str) -> None:
        """Give a waiting document up, because a newer one of the same id has come."""
        if self.documents and self.documents.pop(key, None) is not None:
            self.superseded += 1

    def add_label(self, key: str, label: Label) -> None:
        """Let a label wait for its document; a newer label for the same document replaces it."""
        self.early.pop(key, None)
        self.early[key] = label
        if len(self.early) > self.max_pending:
            del self.early[next(iter(self.early))]
            self.unmatched_labels += 1

    def take_label(self, key: str, label: Label | None) -> Label | None:
        """The label of a document: its own, or one that came before it."""
        early = self.early.pop(key, None)
        if label is None or early is None:
            return early if label is None else label
        self.unmatched_labels += 1  # the document brought its own
        return label

    def forget(self, keep: Longs) -> None:
        """Renumber the waiting vectors after the vocabulary was cut down to `keep`."""
        for document in self.documents.values():
            new = np.searchsorted(keep, document.terms)
            new[new == len(keep)] = 0  # past the last: whatever is there, it is another term
            stays = keep[new] == document.terms
            document.terms = new[stays].astype(np.int32)
            document.values = document.values[stays]
