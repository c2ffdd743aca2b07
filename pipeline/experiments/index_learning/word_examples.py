"""The words of a text as examples, with the same features as `text:PATH`, made as arrays.

A feature is a run of one to three of the words beside a word. It is identified by where the run
begins, how long it is, and which words it contains: small numbers that fit into one integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from learners.arrays import Ints, Longs
from learners.segment import Rows
from pipeline.corpora import SourceError
from pipeline.corpora.word_prediction import LONGEST_RUN, SIDE, TextWords
from pipeline.experiments.index_learning.train_test_split import Examples, Split
from pipeline.experiments.text_vectors import l2_normalised
from pipeline.text.terms import MAX_TERM_BYTES

OFFSETS = tuple(at for at in range(-SIDE, SIDE + 1) if at != 0)
# The offsets of the words of every feature, in the order in which `neighbours` lists them.
RUNS = tuple(
    OFFSETS[start:stop]
    for start in range(len(OFFSETS))
    for stop in range(start + 1, min(start + LONGEST_RUN, len(OFFSETS)) + 1)
)
WORD_BITS = 19
MAX_WORDS = (1 << WORD_BITS) - 1


def words_as_examples(path: Path, limit: int = 0) -> Split:
    """All words of the text that have a neighbour, as the training part; the test part is empty."""
    numbers: dict[str, int] = {}
    words: list[int] = []
    ends: list[int] = []
    for _, sentence in TextWords(path).sentences():
        words += [numbers.setdefault(word, len(numbers)) for word in sentence]
        ends.append(len(words))
        if limit and len(words) >= limit:
            break
    if len(numbers) > MAX_WORDS:
        raise SourceError(
            f"{path} has more than {MAX_WORDS:,} different words, which is the limit; use a part "
            "of the text"
        )
    if not words:
        raise SourceError(f"{path} has no words; expected a text")
    rows, terms = features_of(np.array(words), np.array(ends), list(numbers))
    classes, labels = as_classes(list(numbers), np.array(words))
    some = np.flatnonzero(np.diff(rows.starts))  # a word alone in its sentence has no feature
    if len(some) < 2:
        raise SourceError(
            f"{path} has {len(some)} words with a neighbour in the same sentence; expected a text "
            "of sentences"
        )
    every = Examples(rows, labels).select(some)
    return Split(every, every.select(np.zeros(0, np.int64)), terms, classes)


def without_rare(split: Split, least: int) -> Split:
    """Keep the features that occur at least `least` times in training; normalise again."""
    seen = np.bincount(split.train.rows.terms, minlength=split.terms)
    chosen = np.flatnonzero(seen >= least).astype(np.int64)
    train, test = (
        Examples(l2_normalised(some.rows.restricted(chosen)), some.labels)
        for some in (split.train, split.test)
    )
    return Split(train, test, len(chosen), split.classes)


def as_classes(vocabulary: Sequence[str], words: Longs) -> tuple[list[str], Ints]:
    """The class of every word: the word itself, cut where it is too long for a topic."""
    numbers: dict[str, int] = {}
    of_word = [numbers.setdefault(word[:MAX_TERM_BYTES], len(numbers)) for word in vocabulary]
    return list(numbers), np.array(of_word, np.int32)[words]


def features_of(words: Longs, ends: Longs, vocabulary: Sequence[str]) -> tuple[Rows, int]:
    """Vectors of length one, a row per word, and the number of features."""
    count = len(words)
    sentence = np.searchsorted(ends, np.arange(count), side="right")
    sizes = np.array([len(word.encode()) for word in vocabulary])
    keys = np.full((count, len(RUNS)), -1, np.int64)
    place = np.arange(count)
    for number, run in enumerate(RUNS):
        there = np.ones(count, np.bool_)
        key = np.full(count, number, np.int64)
        size = np.full(count, len(run) - 1)
        for offset in run:
            at = np.clip(place + offset, 0, count - 1)
            there &= (place + offset == at) & (sentence[at] == sentence)
            key = (key << WORD_BITS) | words[at]
            size += sizes[words[at]] + len(f"{offset}:")
        keep = there & (size <= MAX_TERM_BYTES)
        keys[keep, number] = key[keep]
    present = keys >= 0
    lengths = present.sum(axis=1)
    features, terms = np.unique(keys[present], return_inverse=True)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    values = np.repeat(1.0 / np.sqrt(np.maximum(lengths, 1)), lengths)
    return Rows(starts, terms.astype(np.int32), values), len(features)
