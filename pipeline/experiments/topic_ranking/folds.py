"""Documents with several topics each, as vectors, divided into training and test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from learners.arrays import Ints, Longs
from learners.prototypes.rocchio import Rocchio, select_terms
from learners.segment import Rows, Segment, Steps
from pipeline.events.event import Event
from pipeline.experiments.examples import MAX_TERMS, chosen_rows
from pipeline.log.block import make_block
from pipeline.text.features import FeatureSettings, Vocabulary
from pipeline.text.tokenizer import Tokenizer

HELD_OUT = 0.2  # of the training documents, by which settings are chosen


@dataclass(frozen=True, slots=True)
class Labelled:
    """Vectors, and the topics of each."""

    rows: Rows
    topics: Sequence[Sequence[int]]

    def __len__(self) -> int:
        return len(self.topics)

    def chosen(self, numbers: Longs) -> Labelled:
        """Some of them, in that order."""
        return Labelled(chosen_rows(self.rows, numbers), [self.topics[i] for i in numbers])

    def restricted(self, terms: Longs) -> Labelled:
        """With only these terms."""
        return Labelled(self.rows.restricted(terms), self.topics)


@dataclass(frozen=True, slots=True)
class Fold:
    """Documents to learn from, in the order of learning, and others to be tested with."""

    train: Labelled
    test: Labelled
    terms: int
    topics: int

    def held_out(self) -> Fold:
        """The same with the last of the training documents as test, to choose settings by."""
        count = len(self.train)
        cut = max(1, min(count - 1, round(count * (1.0 - HELD_OUT))))
        train, test = (self.train.chosen(some) for some in np.split(np.arange(count), [cut]))
        return Fold(train, test, self.terms, self.topics)

    def selected(self) -> Fold:
        """With only those terms that Rocchio, trained on the training documents, selects."""
        selector = Rocchio(refresh=0)
        selector.follow(self.lessons(), selector.new_scores(len(self.train), self.topics))
        selector.make()
        chosen = select_terms(selector.weights)
        train, test = self.train.restricted(chosen), self.test.restricted(chosen)
        return Fold(train, test, len(chosen), self.topics)

    def lessons(self) -> Segment:
        """Rank every training document, then learn it."""
        steps = steps_of(self.train.topics, self.topics, rank=True)
        return Segment(self.train.rows, steps, self.terms, self.topics)

    def questions(self) -> Segment:
        """Rank every test document, and learn nothing."""
        count = len(self.test)
        steps = Steps(
            np.arange(count, dtype=np.int32), np.zeros(count, np.bool_),
            np.full(count, self.topics, np.int32), np.zeros(count + 1, np.int64),
            np.zeros(0, np.int32),
        )  # fmt: skip
        return Segment(self.test.rows, steps, self.terms, self.topics)

    def answers(self) -> Steps:
        """What the rankings of the test documents are measured by."""
        return steps_of(self.test.topics, self.topics, rank=False)


def steps_of(topics: Sequence[Sequence[int]], known: int, rank: bool) -> Steps:
    """Learn the rows in their order, each ranked just before if asked for; all topics are known."""
    count, each = len(topics), 2 if rank else 1
    labels: Ints = np.array([topic for mine in topics for topic in mine], np.int32)
    lengths: Longs = np.zeros(each * count, np.int64)
    lengths[each - 1 :: each] = [len(mine) for mine in topics]
    learn = np.ones(each * count, np.bool_)
    learn[: each * count - 1 : each] &= not rank
    return Steps(
        np.repeat(np.arange(count, dtype=np.int32), each), learn,
        np.full(each * count, known, np.int32), np.concatenate(([0], np.cumsum(lengths))), labels,
    )  # fmt: skip


def text_fold(
    texts: Sequence[str], topics: Sequence[Sequence[int]], known: int, profile: str, train: Longs,
    test: Longs, min_df: int = 1,
) -> Fold:  # fmt: skip
    """Vectors by pivoted weights, whose document statistics are those of the training texts."""
    tokenizer = Tokenizer(profile)
    vocabulary = Vocabulary(FeatureSettings(max_terms=MAX_TERMS, min_df=min_df))

    def vectors(numbers: Longs) -> Rows:
        events = [Event(int(i), texts[i], None, None, None) for i in numbers]
        block = make_block(events, tokenizer)
        (piece,) = vocabulary.vectors(block.counts, block.ready)
        return piece.rows

    vectors(train)
    vocabulary.freeze()
    seen, unseen = (Labelled(vectors(i), [topics[j] for j in i]) for i in (train, test))
    return Fold(seen, unseen, len(vocabulary), known)


def cross_validation(count: int, folds: int, seed: int, number: int) -> tuple[Longs, Longs]:
    """Training documents, in a random order, and test documents of the so-many-th fold.

    After the last fold comes the first of another cross-validation, with folds of its own.
    """
    again, fold = divmod(number, folds)
    order = np.random.default_rng([seed, again]).permutation(count)
    rest = np.delete(order, np.s_[fold::folds])
    train = np.random.default_rng([seed, again, fold]).permutation(rest)
    return train, order[fold::folds]
