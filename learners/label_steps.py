"""The steps of documents that come with their labels, as whole arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Ints, Longs
from learners.segment import Steps


class Labels(NamedTuple):
    """The labels of documents as numbers: document i has `numbers[starts[i]:starts[i + 1]]`."""

    starts: Longs
    numbers: Ints
    given: Bools  # False: the document has no label, and is only ranked
    before: Ints  # topics that are known when the document is ranked
    after: Ints  # topics that are known when it is learned: its own are among them

    def __len__(self) -> int:
        """The number of documents, not of fields."""
        return len(self.given)


def ranking_steps(documents: int, known: int) -> Steps:
    """Rank every document; nothing is learned."""
    all_known = np.full(documents, known, np.int32)
    return Steps(
        np.arange(documents, dtype=np.int32),
        np.zeros(documents, np.bool_),
        all_known,
        np.zeros(documents + 1, np.int64),
        np.empty(0, np.int32),
        all_known,
    )


def learning_steps(labels: Labels) -> Steps:
    """Learn every document that has a label; nothing is ranked."""
    row = np.flatnonzero(labels.given).astype(np.int32)
    counts = np.diff(labels.starts)[row]
    return Steps(
        row,
        np.ones(len(row), np.bool_),
        labels.after[row],
        np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))),
        labels.numbers,
        labels.before[row],
    )


def rank_then_learn_steps(labels: Labels) -> Steps:
    """Rank every document, and learn it right after that if it has a label."""
    steps_per_document = 1 + labels.given.astype(np.int64)
    row = np.repeat(np.arange(len(labels), dtype=np.int32), steps_per_document)
    learn = np.zeros(len(row), np.bool_)
    learn[np.cumsum(steps_per_document)[labels.given] - 1] = True
    counts = np.where(learn, np.diff(labels.starts)[row], 0)
    return Steps(
        row,
        learn,
        np.where(learn, labels.after[row], labels.before[row]),
        np.concatenate((np.zeros(1, np.int64), np.cumsum(counts))),
        labels.numbers,
        labels.before[row],
    )
