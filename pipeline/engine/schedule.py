"""The steps of a stretch of the log: what is ranked and what is learned, in order.

Topics and ranks are labels of different kinds, learned by different lanes. A document may have one
of them now and the other one later, so each kind has its own steps and its own waiting documents.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from learners.segment import Rows, Segment, Steps
from pipeline.engine.pending_labels import Label, PendingDocument, PendingLabels
from pipeline.engine.topic_index import TopicIndex
from pipeline.log.block import Entry
from pipeline.text.features import Vectors


class Labels(ABC):
    """A kind of label: where an entry has it, and which numbers learners know it by."""

    @abstractmethod
    def of(self, entry: Entry) -> Label | None:
        """The label that an entry brings, if any."""

    @abstractmethod
    def numbers(self, label: Label) -> list[int] | None:
        """What learners call it; None if nothing can be learned from it."""

    @property
    @abstractmethod
    def known(self) -> int:
        """How many numbers there are by now."""


class TopicLabels(Labels):
    """The topics of a document; new ones join the index while there is room."""

    def __init__(self, index: TopicIndex) -> None:
        self.index = index

    def of(self, entry: Entry) -> Label | None:
        """Its topics, which may be none."""
        return entry.topics

    def numbers(self, label: Label) -> list[int] | None:
        """The topics' numbers; all of them past the ceiling is no round, not one without topics."""
        numbers = self.index.numbers(label)  # type: ignore[arg-type]
        return None if label and not numbers else numbers

    @property
    def known(self) -> int:
        """Topics that exist."""
        return len(self.index.names)


class RankLabels(Labels):
    """The rank of a document, from 1 up to a number that is known from the start."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.refused = 0  # labels with a rank past the last one

    def of(self, entry: Entry) -> Label | None:
        """Its rank."""
        return None if entry.rank is None else (entry.rank,)

    def numbers(self, label: Label) -> list[int] | None:
        """The rank less one; a rank past the last one teaches nothing, and is counted."""
        (rank,) = label
        if int(rank) <= self.ranks:
            return [int(rank) - 1]
        self.refused += 1
        return None

    @property
    def known(self) -> int:
        """All ranks."""
        return self.ranks


class Timeline:
    """Gathers the steps of a stretch of the log, matching labels with their documents."""

    def __init__(self, vectors: Vectors, labels: Labels, pending: PendingLabels) -> None:
        self._vectors = vectors
        self._kind = labels
        self._pending = pending
        self._steps: list[int] = []  # of each: row, whether it learns, labels known, labels so far
        self._labels: list[int] = []
        self.ranked: list[Entry] = []
        self.ranked_known: list[int] = []
        self.ranked_labels: list[Label | None] = []  # None: it has not come yet
        self.rounds_before: list[int] = []
        self.labelled: list[Entry] = []  # documents or late labels, one a round
        self.waiting: list[tuple[str, PendingDocument]] = []  # documents here without labels
        self.late: list[PendingDocument] = []  # their rows come after those of this stretch

    def add(self, entry: Entry) -> None:
        """Take the next entry of the log."""
        label = self._kind.of(entry)
        if entry.row is None:
            if label is None:
                self._pending.ignored_labels += 1
            else:
                self._add_label(entry, label)
            return
        row = entry.row - self._vectors.first
        known = self._kind.known
        self._steps += row, False, known, len(self._labels)
        self.ranked.append(entry)
        self.ranked_known.append(known)
        self.rounds_before.append(len(self.labelled))
        key = str(entry.id)
        if self._pending.early:
            label = self._pending.take_label(key, label)
        self.ranked_labels.append(label)
        if label is not None:
            if self._pending.documents:
                self._pending.drop_document(key)  # a label can only mean the newest of its id
            self._learn_row(entry, row, label)
            return
        document = PendingDocument(row)
        self.waiting.append((key, document))
        self._pending.add_document(key, document)

    def _add_label(self, entry: Entry, label: Label) -> None:
        document = self._pending.documents.pop(str(entry.id), None)
        if document is None:
            self._pending.add_label(str(entry.id), label)
            return
        row = document.row
        if row is None:
            row = len(self._vectors.rows) + len(self.late)
            self.late.append(document)
        self._learn_row(entry, row, label)

    def _learn_row(self, entry: Entry, row: int, label: Label) -> None:
        numbers = self._kind.numbers(label)
        if numbers is None:
            return
        self._labels += numbers
        self._steps += row, True, self._kind.known, len(self._labels)
        self.labelled.append(entry)

    def __bool__(self) -> bool:
        return bool(self._steps)

    def segment(self) -> Segment:
        """The steps so far, with the vectors they need."""
        row, learn, known, label_ends = np.array(self._steps, np.int64).reshape(-1, 4).T
        steps = Steps(
            row.astype(np.int32),
            learn.astype(np.bool_),
            known.astype(np.int32),
            np.concatenate(([0], label_ends)),
            np.array(self._labels, np.int32),
        )
        rows = with_late_rows(self._vectors.rows, self.late)
        return Segment(rows, steps, self._vectors.terms, self._kind.known)


def with_late_rows(rows: Rows, late: Sequence[PendingDocument]) -> Rows:
    """The rows, and behind them those of earlier documents whose labels have come."""
    if not late:
        return rows
    lengths = [len(document.terms) for document in late]
    starts = np.concatenate((rows.starts, rows.starts[-1] + np.cumsum(lengths)))
    terms = np.concatenate([rows.terms, *(document.terms for document in late)])
    values = np.concatenate([rows.values, *(document.values for document in late)])
    return Rows(starts, terms, values)
