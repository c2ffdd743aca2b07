"""Documents with one class each, as vectors; and how they are divided into training and test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.arrays import Ints, Longs
from learners.segment import Rows, Segment, Steps
from pipeline.events.event import Event
from pipeline.log.block import make_block
from pipeline.text.features import FeatureSettings, Vocabulary
from pipeline.text.tokenizer import Tokenizer

MAX_TERMS = 1 << 22  # a ceiling that no corpus here comes near: nothing is forgotten


@dataclass(frozen=True, slots=True)
class Examples:
    """Vectors, and the class of each."""

    rows: Rows
    labels: Ints

    def __len__(self) -> int:
        return len(self.labels)

    def chosen(self, numbers: Longs) -> Examples:
        """Some of them, in that order."""
        return Examples(chosen_rows(self.rows, numbers), self.labels[numbers])


@dataclass(frozen=True, slots=True)
class Split:
    """Examples to learn from, in the order of learning, and others to be tested with."""

    train: Examples
    test: Examples
    terms: int
    classes: Sequence[str]

    def held_out(self, share: float) -> Split:
        """The same with the last of the training examples as test, to make choices by."""
        count = len(self.train)
        cut = max(1, min(count - 1, round(count * (1.0 - share))))
        numbers = np.arange(count)
        train, test = (self.train.chosen(some) for some in np.split(numbers, [cut]))
        return Split(train, test, self.terms, self.classes)


def drawn(count: int, test_share: float, seed: int, number: int) -> tuple[Longs, Longs]:
    """Training examples, in a random order, and test examples of the so-many-th split."""
    order = np.random.default_rng([seed, number]).permutation(count)
    cut = max(1, round(count * test_share))
    return order[cut:], order[:cut]


def lessons(labels: Ints, classes: int) -> Steps:
    """Learn every row, one after another."""
    count = len(labels)
    return Steps(
        np.arange(count, dtype=np.int32), np.ones(count, np.bool_),
        np.full(count, classes, np.int32), np.arange(count + 1, dtype=np.int64), labels,
    )  # fmt: skip


def questions(count: int, classes: int) -> Steps:
    """Rank every row, and learn nothing."""
    return Steps(
        np.arange(count, dtype=np.int32), np.zeros(count, np.bool_),
        np.full(count, classes, np.int32), np.zeros(count + 1, np.int64), np.zeros(0, np.int32),
    )  # fmt: skip


def to_learn(examples: Examples, split: Split) -> Segment:
    """All examples as a segment to learn."""
    steps = lessons(examples.labels, len(split.classes))
    return Segment(examples.rows, steps, split.terms, len(split.classes))


def to_rank(examples: Examples, split: Split) -> Segment:
    """All examples as a segment to rank."""
    steps = questions(len(examples), len(split.classes))
    return Segment(examples.rows, steps, split.terms, len(split.classes))


def chosen_rows(rows: Rows, numbers: Longs) -> Rows:
    """Some rows, in that order."""
    lengths = np.diff(rows.starts)[numbers]
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    places = np.arange(starts[-1]) + np.repeat(rows.starts[numbers] - starts[:-1], lengths)
    return Rows(starts, rows.terms[places], rows.values[places])


def of_length_one(rows: Rows) -> Rows:
    """Every row divided by its l2 norm."""
    numbers = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    norms = np.sqrt(np.bincount(numbers, rows.values**2, minlength=len(rows)))
    return Rows(rows.starts, rows.terms, rows.values / norms[numbers])


def text_split(
    texts: Sequence[str], labels: Ints, classes: Sequence[str], profile: str, train: Longs,
    test: Longs,
) -> Split:  # fmt: skip
    """Vectors of length one, whose document statistics are those of the training texts."""
    tokenizer, vocabulary = Tokenizer(profile), Vocabulary(FeatureSettings(max_terms=MAX_TERMS))

    def vectors(numbers: Longs) -> Rows:
        events = [Event(int(i), texts[i], None, None, None) for i in numbers]
        block = make_block(events, tokenizer)
        (piece,) = vocabulary.vectors(block.counts, block.ready)
        return piece.rows

    vectors(train)
    vocabulary.freeze()
    seen, unseen = (Examples(of_length_one(vectors(i)), labels[i]) for i in (train, test))
    return Split(seen, unseen, len(vocabulary), classes)
