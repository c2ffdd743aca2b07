"""Turn entries of the log into a segment: the steps, in order, that lanes rank and learn.

Topics and ranks are learned by different lanes, and a document may get its topics now and its rank
later. Therefore each lane group builds its own segment and has its own pending documents.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learners.segment import Rows, Segment, Steps
from pipeline.engine.labels import Labels
from pipeline.engine.pending_labels import Label, PendingDocument, PendingLabels
from pipeline.log.block import Entry
from pipeline.text.features import Vectors


class SegmentBuilder:
    """Collects the steps of a segment: each document is ranked, each matched label is learned."""

    def __init__(self, vectors: Vectors, labels: Labels, pending: PendingLabels) -> None:
        self._vectors = vectors
        self._labels = labels
        self._pending = pending
        # Five numbers per step: row, whether it learns, known labels, end of its label numbers,
        # labels in the ranking that is measured.
        self._steps: list[int] = []
        self._label_numbers: list[int] = []
        self.documents: list[Entry] = []
        # One element per document: labels known when it was ranked, its own label (None: not here
        # yet), and rounds of this segment learned before its ranking.
        self.known_labels: list[int] = []
        self.document_labels: list[Label | None] = []
        self.rounds_before: list[int] = []
        self.labelled: list[Entry] = []  # the document or late label that each round learned from
        self.unlabelled: list[tuple[str, PendingDocument]] = []  # documents of this segment
        # Earlier documents whose labels came in this segment. Their rows follow those of the
        # segment's own documents.
        self.late_documents: list[PendingDocument] = []

    def add(self, entry: Entry, first: int = 0) -> None:
        """Add the next entry of the log; `first` is the row in its block of the first vector."""
        label = self._labels.of(entry)
        if entry.row is not None:
            self._add_document(entry, entry.row - first, label)
        elif label is not None:
            self._add_late_label(entry, label)
        else:
            self._pending.ignored_labels += 1

    def _add_document(self, entry: Entry, row: int, label: Label | None) -> None:
        known = self._labels.known
        self._steps += row, False, known, len(self._label_numbers), known
        self.documents.append(entry)
        self.known_labels.append(known)
        self.rounds_before.append(len(self.labelled))
        key = str(entry.id)
        label = self._pending.match_document(key, label)
        self.document_labels.append(label)
        if label is not None:
            self._learn_row(entry, row, known, label)
        else:
            document = PendingDocument(row)
            self.unlabelled.append((key, document))
            starts = self._vectors.rows.starts
            self._pending.add_document(key, document, int(starts[row + 1] - starts[row]), known)

    def _add_late_label(self, entry: Entry, label: Label) -> None:
        document = self._pending.match_label(str(entry.id), label)
        if document is None:
            return
        row = document.row
        if row is None:
            row, ranked = len(self._vectors.rows) + len(self.late_documents), document.known
            self.late_documents.append(document)
        else:
            ranked = self.known_labels[row]
        self._learn_row(entry, row, ranked, label)

    def _learn_row(self, entry: Entry, row: int, ranked: int, label: Label) -> None:
        numbers = self._labels.numbers(label)
        if numbers is None:
            return
        self._label_numbers += numbers
        known = self._labels.known
        # Labels that were discovered since the ranking take part in it with the score 0. But an
        # empty ranking ranked nothing, so no label is found in it.
        ranked = known if ranked else 0
        self._steps += row, True, known, len(self._label_numbers), ranked
        self.labelled.append(entry)

    def __bool__(self) -> bool:
        return bool(self._steps)

    def build(self) -> Segment:
        """Return the steps so far, with the vectors that they need."""
        row, learn, known, label_ends, ranked = np.array(self._steps, np.int64).reshape(-1, 5).T
        steps = Steps(
            row.astype(np.int32),
            learn.astype(np.bool_),
            known.astype(np.int32),
            np.concatenate(([0], label_ends)),
            np.array(self._label_numbers, np.int32),
            ranked.astype(np.int32),
        )
        rows = with_late_rows(self._vectors.rows, self.late_documents)
        return Segment(rows, steps, self._vectors.terms, self._labels.known)


def with_late_rows(rows: Rows, late_documents: Sequence[PendingDocument]) -> Rows:
    """Append the vectors of earlier documents, whose labels have come, to the rows."""
    if not late_documents:
        return rows
    lengths = [len(document.terms) for document in late_documents]
    starts = np.concatenate((rows.starts, rows.starts[-1] + np.cumsum(lengths)))
    terms = np.concatenate([rows.terms, *(document.terms for document in late_documents)])
    values = np.concatenate([rows.values, *(document.values for document in late_documents)])
    return Rows(starts, terms, values)
