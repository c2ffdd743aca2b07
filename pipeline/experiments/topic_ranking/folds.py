"""Documents with several topics each, as vectors, split into training and test documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.arrays import Ints, Longs
from learners.prototypes.rocchio import Rocchio, select_terms
from learners.segment import Rows, Segment, Steps
from pipeline.experiments.text_vectors import select_rows, training_and_test_vectors

HELD_OUT = 0.2  # share of the training documents on which settings are chosen


@dataclass(frozen=True, slots=True)
class Labelled:
    """Vectors, and the topics of each."""

    rows: Rows
    topics: Sequence[Sequence[int]]

    def __len__(self) -> int:
        return len(self.topics)

    def select(self, numbers: Longs) -> Labelled:
        """The documents with these numbers, in this order."""
        return Labelled(select_rows(self.rows, numbers), [self.topics[i] for i in numbers])

    def restricted(self, terms: Longs) -> Labelled:
        """The same documents with only these terms."""
        return Labelled(self.rows.restricted(terms), self.topics)


@dataclass(frozen=True, slots=True)
class Fold:
    """Training documents, in the order of learning, and test documents."""

    train: Labelled
    test: Labelled
    terms: int
    topics: int

    def held_out(self) -> Fold:
        """A fold of the training documents: the last of them are the test documents."""
        count = len(self.train)
        cut = max(1, min(count - 1, round(count * (1.0 - HELD_OUT))))
        train, test = (self.train.select(part) for part in np.split(np.arange(count), [cut]))
        return Fold(train, test, self.terms, self.topics)

    def selected(self) -> Fold:
        """The fold with only the terms that Rocchio selects on the training documents."""
        selector = Rocchio(refresh=0)
        selector.follow(self.training_segment(), selector.new_scores(len(self.train), self.topics))
        selector.make()
        chosen = select_terms(selector.weights)
        train, test = self.train.restricted(chosen), self.test.restricted(chosen)
        return Fold(train, test, len(chosen), self.topics)

    def training_segment(self) -> Segment:
        """A segment that ranks every training document and then learns it."""
        steps = steps_of(self.train.topics, self.topics, rank=True)
        return Segment(self.train.rows, steps, self.terms, self.topics)

    def test_segment(self) -> Segment:
        """A segment that ranks every test document and learns none."""
        count = len(self.test)
        known = np.full(count, self.topics, np.int32)
        steps = Steps(
            np.arange(count, dtype=np.int32), np.zeros(count, np.bool_), known,
            np.zeros(count + 1, np.int64), np.zeros(0, np.int32), known,
        )  # fmt: skip
        return Segment(self.test.rows, steps, self.terms, self.topics)

    def true_topics(self) -> Steps:
        """The topics of the test documents, by which their rankings are measured."""
        return steps_of(self.test.topics, self.topics, rank=False)


def steps_of(topics: Sequence[Sequence[int]], known: int, rank: bool) -> Steps:
    """Steps that learn the rows in order; with `rank` each row is ranked just before it is learned.

    `known` is the number of topics, all known from the start.
    """
    count, each = len(topics), 2 if rank else 1
    labels: Ints = np.array([topic for of_row in topics for topic in of_row], np.int32)
    lengths: Longs = np.zeros(each * count, np.int64)
    lengths[each - 1 :: each] = [len(of_row) for of_row in topics]
    learn = np.ones(each * count, np.bool_)
    learn[: each * count - 1 : each] &= not rank
    all_known = np.full(each * count, known, np.int32)
    return Steps(
        np.repeat(np.arange(count, dtype=np.int32), each), learn, all_known,
        np.concatenate(([0], np.cumsum(lengths))), labels, all_known,
    )  # fmt: skip


def text_fold(
    texts: Sequence[str], topics: Sequence[Sequence[int]], known: int, profile: str, train: Longs,
    test: Longs, min_df: int = 1,
) -> Fold:  # fmt: skip
    """A fold of texts as vectors with pivoted weights and the statistics of the training texts."""
    seen, unseen, terms = training_and_test_vectors(texts, profile, train, test, min_df)
    return Fold(
        Labelled(seen, [topics[i] for i in train]), Labelled(unseen, [topics[i] for i in test]),
        terms, known,
    )  # fmt: skip


def cross_validation(count: int, folds: int, seed: int, number: int) -> tuple[Longs, Longs]:
    """Training documents, in random order, and test documents of fold `number`.

    A number beyond the last fold starts another cross-validation, with other folds.
    """
    again, fold = divmod(number, folds)
    order = np.random.default_rng([seed, again]).permutation(count)
    rest = np.delete(order, np.s_[fold::folds])
    train = np.random.default_rng([seed, again, fold]).permutation(rest)
    return train, order[fold::folds]
