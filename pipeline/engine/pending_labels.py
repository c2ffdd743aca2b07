"""Match late labels with their documents.

A document without a label waits for it. A label that comes before its document waits too. Both
kinds of waiting are bounded, in number and in bytes: when there are too many, the oldest is dropped
and counted.

What drops a document must not depend on the lanes of a worker, on its shard, on blocks or on
crashes, because all of these must agree on the waiting documents. So a document is charged bytes
that follow from the log alone: for its id, the terms of its vector, and one score per label known
when it was ranked. The memory of its scores is this part of the charge times the number of lanes.

A document that has the id of a waiting document replaces it, because a late label can only mean the
newest version. A label whose document is already labelled also waits: it is matched with the next
version of the document, if one comes.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from learners.arrays import Floats, Ints, Longs
from learners.scores import StoredScores

Label = tuple[str, ...] | tuple[int]  # topics, or one rank

MAX_PENDING, MAX_PENDING_BYTES = 10_000, 256 << 20  # the defaults

# Bytes charged. A string has up to four bytes per character in memory.
DOCUMENT_BYTES = 1024  # the objects of a waiting document
LABEL_BYTES = 256  # the objects of a waiting label
NAME_BYTES = 80  # the object of one topic
CHARACTER_BYTES = 4
TERM_BYTES = 12  # number and value
SCORE_BYTES = 8

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
    charge: int = 0  # bytes; see `charge_document`


def charge_document(key: str, terms: int, known: int) -> int:
    """Return the bytes that a waiting document is charged: with this id, terms and known labels."""
    own = DOCUMENT_BYTES + CHARACTER_BYTES * len(key)
    return own + TERM_BYTES * terms + SCORE_BYTES * known


def charge_label(key: str, label: Label) -> int:
    """Return the bytes that a waiting label is charged."""
    own = LABEL_BYTES + CHARACTER_BYTES * len(key)
    return own + sum(
        NAME_BYTES + CHARACTER_BYTES * (len(name) if isinstance(name, str) else 0) for name in label
    )


class PendingLabels:
    """Matches labels with documents by id. The ids 7 and "7" are equal.

    At most `max_pending` documents wait, which are charged at most `max_bytes`. The same limits
    hold for labels, on their own.
    """

    def __init__(self, max_pending: int = MAX_PENDING, max_bytes: int = MAX_PENDING_BYTES) -> None:
        self.max_pending = max_pending
        self.max_bytes = max_bytes
        # By id, oldest first. Taking the first entry of a plain dict, again and again, gets slow.
        self.documents: OrderedDict[str, PendingDocument] = OrderedDict()
        self.document_bytes = 0  # charged for all waiting documents
        self.early: OrderedDict[str, Label] = OrderedDict()  # labels without a document
        self.early_bytes = 0  # charged for all of them
        self.expired_documents = 0
        self.unmatched_labels = 0
        self.superseded = 0
        self.ignored_labels = 0  # late labels that have no label of this kind

    @property
    def labels_without_document(self) -> int:
        """Late labels that have not found a document: those that wait, and those dropped."""
        return len(self.early) + self.unmatched_labels

    def match_label(self, key: str, label: Label) -> PendingDocument | None:
        """Return the document that waits for this late label, and stop its waiting.

        If no document waits, the label waits instead. It replaces an older label of the same id.
        """
        document = self._take_document(key)
        if document is None:
            if self._take_early(key) is not None:
                self.unmatched_labels += 1
            self.early[key] = label
            self.early_bytes += charge_label(key, label)
            self._drop_early()
        return document

    def _take_document(self, key: str) -> PendingDocument | None:
        """Remove a waiting document."""
        document = self.documents.pop(key, None)
        if document is not None:
            self.document_bytes -= document.charge
        return document

    def _take_early(self, key: str) -> Label | None:
        """Remove a waiting label."""
        label = self.early.pop(key, None)
        if label is not None:
            self.early_bytes -= charge_label(key, label)
        return label

    def _drop_early(self) -> None:
        """Drop the oldest labels until the rest is within the limits."""
        while len(self.early) > self.max_pending or self.early_bytes > self.max_bytes:
            self._take_early(next(iter(self.early)))
            self.unmatched_labels += 1

    def _drop_documents(self) -> None:
        """Drop the oldest documents until the rest is within the limits."""
        while len(self.documents) > self.max_pending or self.document_bytes > self.max_bytes:
            self._take_document(next(iter(self.documents)))
            self.expired_documents += 1

    def match_document(self, key: str, own_label: Label | None) -> Label | None:
        """Return the label of a new document: its own label, or one that came before it.

        A labelled document also replaces a waiting document of the same id.
        """
        label = own_label
        if self.early and (early := self._take_early(key)) is not None:
            if own_label is None:
                label = early
            else:
                self.unmatched_labels += 1
        if label is not None:
            self._drop_document(key)
        return label

    def add_document(self, key: str, document: PendingDocument, terms: int, known: int) -> None:
        """Let a document wait for its label. It replaces a waiting document of the same id.

        Its vector, which has this many terms, and its scores of the known labels come later.
        """
        self._drop_document(key)
        document.charge = charge_document(key, terms, known)
        self.documents[key] = document
        self.document_bytes += document.charge
        self._drop_documents()

    def _drop_document(self, key: str) -> None:
        if self.documents and self._take_document(key) is not None:
            self.superseded += 1

    def forget(self, keep: Longs) -> None:
        """Renumber the terms of waiting documents after the vocabulary was cut to `keep`."""
        for key, document in self.documents.items():
            new = np.searchsorted(keep, document.terms)
            new[new == len(keep)] = 0  # above the last kept term: compares unequal below
            stays = keep[new] == document.terms
            document.terms = new[stays].astype(np.int32)
            document.values = document.values[stays]
            self._charge(key, document)

    def restore(self, documents: dict[str, PendingDocument], early: dict[str, Label]) -> None:
        """Restore what waits from a snapshot.

        Versions before the limit in bytes may have kept more. Then the oldest are dropped now, so
        that every worker that reads this snapshot drops the same.
        """
        self.documents, self.document_bytes = OrderedDict(documents), 0
        for key, document in documents.items():
            document.charge = 0
            self._charge(key, document)
        self.early, self.early_bytes = OrderedDict(early), 0
        for key, label in early.items():
            self.early_bytes += charge_label(key, label)
        self._drop_documents()
        self._drop_early()

    def _charge(self, key: str, document: PendingDocument) -> None:
        """Charge a document for what it holds now."""
        charge = charge_document(key, len(document.terms), document.known)
        self.document_bytes += charge - document.charge
        document.charge = charge
