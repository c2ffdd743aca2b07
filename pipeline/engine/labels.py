"""The two kinds of labels, topics and ranks, and the numbers that learners know them by."""

from __future__ import annotations

from abc import ABC, abstractmethod

from pipeline.engine.pending_labels import Label
from pipeline.engine.topic_index import TopicIndex
from pipeline.log.block import Entry


class Labels(ABC):
    """One kind of label: how to read it from an entry of the log, and how to number it."""

    @abstractmethod
    def of(self, entry: Entry) -> Label | None:
        """Return the label that an entry carries, or None if it carries none of this kind."""

    @abstractmethod
    def numbers(self, label: Label) -> list[int] | None:
        """Return the numbers of a label, or None if the lanes cannot learn from the label."""

    @property
    @abstractmethod
    def known(self) -> int:
        """The count of numbers that exist so far."""


class TopicLabels(Labels):
    """The topics of a document. New topics join the index while there is room."""

    def __init__(self, index: TopicIndex) -> None:
        self.index = index

    def of(self, entry: Entry) -> Label | None:
        """Return the topics of an entry; an empty tuple means "labelled, with no topics"."""
        return entry.topics

    def numbers(self, label: Label) -> list[int] | None:
        """Return the numbers of the topics.

        If the index is full and refuses every topic of the label, the label is not a round. It
        must not count as a round without topics.
        """
        numbers = self.index.numbers(label)  # type: ignore[arg-type]
        return None if label and not numbers else numbers

    @property
    def known(self) -> int:
        """The count of topics that exist so far."""
        return len(self.index.names)


class RankLabels(Labels):
    """The rank of a document, from 1 to `ranks`, which is fixed from the start."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.refused = 0  # labels with a rank above `ranks`

    def of(self, entry: Entry) -> Label | None:
        """Return the rank of an entry as a tuple of one number."""
        return None if entry.rank is None else (entry.rank,)

    def numbers(self, label: Label) -> list[int] | None:
        """Return the rank minus one. Ranks above the last one are counted and not learned."""
        (rank,) = label
        if int(rank) <= self.ranks:
            return [int(rank) - 1]
        self.refused += 1
        return None

    @property
    def known(self) -> int:
        """The count of ranks."""
        return self.ranks
