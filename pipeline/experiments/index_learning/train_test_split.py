"""Documents with one class each, as vectors, split into training and test examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.arrays import Ints, Longs
from learners.segment import Rows, Segment, Steps
from pipeline.experiments.text_vectors import (
    l2_normalised,
    select_rows,
    training_and_test_vectors,
)


@dataclass(frozen=True, slots=True)
class Examples:
    """Vectors, and the class of each."""

    rows: Rows
    labels: Ints

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, numbers: Longs) -> Examples:
        """The examples with these numbers, in this order."""
        return Examples(select_rows(self.rows, numbers), self.labels[numbers])


@dataclass(frozen=True, slots=True)
class Split:
    """Training examples, in the order of learning, and test examples."""

    train: Examples
    test: Examples
    terms: int
    classes: Sequence[str]

    def held_out(self, share: float) -> Split:
        """A split of the training examples: the last `share` of them is the test part."""
        count = len(self.train)
        cut = max(1, min(count - 1, round(count * (1.0 - share))))
        numbers = np.arange(count)
        train, test = (self.train.select(part) for part in np.split(numbers, [cut]))
        return Split(train, test, self.terms, self.classes)


def random_split(count: int, test_share: float, seed: int, number: int) -> tuple[Longs, Longs]:
    """Training examples, in random order, and test examples of split `number`."""
    order = np.random.default_rng([seed, number]).permutation(count)
    cut = max(1, round(count * test_share))
    return order[cut:], order[:cut]


def learning_steps(labels: Ints, classes: int) -> Steps:
    """Steps that learn every row in order and rank none."""
    count = len(labels)
    known = np.full(count, classes, np.int32)
    return Steps(
        np.arange(count, dtype=np.int32), np.ones(count, np.bool_), known,
        np.arange(count + 1, dtype=np.int64), labels, known,
    )  # fmt: skip


def ranking_steps(count: int, classes: int) -> Steps:
    """Steps that rank every row in order and learn none."""
    known = np.full(count, classes, np.int32)
    return Steps(
        np.arange(count, dtype=np.int32), np.zeros(count, np.bool_), known,
        np.zeros(count + 1, np.int64), np.zeros(0, np.int32), known,
    )  # fmt: skip


def learning_segment(examples: Examples, split: Split) -> Segment:
    """A segment that learns all examples."""
    steps = learning_steps(examples.labels, len(split.classes))
    return Segment(examples.rows, steps, split.terms, len(split.classes))


def ranking_segment(examples: Examples, split: Split) -> Segment:
    """A segment that ranks all examples and learns none."""
    steps = ranking_steps(len(examples), len(split.classes))
    return Segment(examples.rows, steps, split.terms, len(split.classes))


def text_split(
    texts: Sequence[str], labels: Ints, classes: Sequence[str], profile: str, train: Longs,
    test: Longs,
) -> Split:  # fmt: skip
    """A split of texts as vectors of length one, weighted by statistics of the training texts."""
    seen, unseen, terms = training_and_test_vectors(texts, profile, train, test)
    return Split(
        Examples(l2_normalised(seen), labels[train]), Examples(l2_normalised(unseen), labels[test]),
        terms, classes,
    )  # fmt: skip
