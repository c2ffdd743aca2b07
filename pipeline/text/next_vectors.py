"""Vectors of documents, each made as if it came next in the stream; nothing is counted.

A stream counts a document before it makes its vector: the frequencies of its terms, the number of
texts and their mean length include the document itself, and its new terms join the vocabulary. Here
every document sees these numbers as they would be, and leaves them as they were. So the vector of a
document does not depend on the others, and documents can be taken in any order and by any number of
processes.

New terms have no weights in any model, so all of them get the same number, the first behind the
vocabulary. Their values matter only for the length of the vector.

If the new terms of a document do not fit into the vocabulary, the stream would first drop a quarter
of its terms (see `features`). Terms of the document that would be dropped count as new terms here.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit
from learners.segment import Rows
from pipeline.text.feature_settings import WeightOptions
from pipeline.text.features import (
    DISTINCT,
    DOCUMENTS,
    TEXTS,
    TF,
    UNSEEN,
    VectorBuffer,
    Vocabulary,
    VocabularyArrays,
    look_up,
    scale_to_unit_length,
)
from pipeline.text.terms import with_key
from pipeline.text.tokenizer import TermCounts

REFUSED_TERM = -1  # the number of a term that gets no place in the vocabulary


class Usefulness(NamedTuple):
    """What decides which terms stay when the vocabulary is cut."""

    useful: Floats  # of each term, as long as no further document holds it
    falling: Floats  # the same, negated and sorted: the most useful first
    most: int  # how many terms stay


@njit
def is_safe(row_terms: Ints, ids: Ints, uses: Longs, usefulness: Usefulness) -> bool:
    """Whether all known terms of a document certainly stay when the vocabulary is cut for it.

    A term of the document counts as just seen, so its usefulness is the number of its uses. At
    most the document's own terms pass it, beside all terms that are as useful now.
    """
    falling, most = usefulness.falling, usefulness.most
    for term in row_terms:
        if ids[term] >= 0:
            ahead = np.searchsorted(falling, -float(uses[ids[term]]), side="right")
            if ahead + len(row_terms) > most:
                return False
    return True


@njit
def stays(
    row_terms: Ints, ids: Ints, vocabulary: VocabularyArrays, usefulness: Usefulness
) -> Bools:
    """Return which terms of the vocabulary stay when it is cut for a document."""
    useful = -usefulness.useful
    for term in row_terms:
        if ids[term] >= 0:
            useful[ids[term]] = -float(vocabulary.uses[ids[term]])
    kept = np.zeros(len(useful), np.bool_)
    kept[np.argsort(useful, kind="mergesort")[: usefulness.most]] = True
    return kept


@njit
def number_terms(
    row_terms: Ints, ids: Ints, absent: int, vocabulary: VocabularyArrays, options: WeightOptions,
    usefulness: Usefulness, numbers: Ints,
) -> None:  # fmt: skip
    """Write the number that each term of a document would have; new terms share one."""
    size = vocabulary.table.size[0]
    room = options.max_terms - size
    is_cut = absent > room and not options.frozen
    kept = np.zeros(0, np.bool_)
    if is_cut:
        room = options.max_terms - min(size, usefulness.most)
        if size > usefulness.most and not is_safe(row_terms, ids, vocabulary.uses, usefulness):
            kept = stays(row_terms, ids, vocabulary, usefulness)
    if options.frozen:
        room = 0
    for i in range(len(row_terms)):
        number = ids[row_terms[i]]
        if number >= 0 and (len(kept) == 0 or kept[number]):
            numbers[i] = number
        elif room > 0:
            numbers[i] = size
            room -= 1
        else:
            numbers[i] = REFUSED_TERM


@njit
def weigh_next(
    numbers: Ints, counts: Floats, vocabulary: VocabularyArrays, options: WeightOptions,
    out: VectorBuffer, filled: int,
) -> int:  # fmt: skip
    """As `features.weigh`, with the document added to the frequencies for its own vector only."""
    df, totals, terms, values = vocabulary.df, vocabulary.totals, out.terms, out.values
    size = vocabulary.table.size[0]
    more = 0 if options.frozen else 1
    distinct = 0
    total = 0.0
    for i in range(len(numbers)):
        term = numbers[i]
        if term < 0:
            continue
        frequency = more + (df[term] if term < size else 0)
        if frequency >= options.min_df:
            terms[filled + distinct] = term
            values[filled + distinct] = counts[i]
            distinct += 1
            total += counts[i]
    if distinct == 0:
        return filled
    texts = totals[TEXTS] + more
    all_distinct = totals[DISTINCT] + more * distinct
    spread = 1.0 + math.log(total / distinct)
    pivot = options.pivot if options.pivot > 0.0 else all_distinct / texts
    length = (1.0 - options.slope) + options.slope * distinct / pivot
    first, last = filled, filled + distinct
    for i in range(filled, last):
        term, count = terms[i], values[i]
        tf = TF[int(count)] if count < len(TF) else 1.0 + math.log(count)
        frequency = more + (df[term] if term < size else 0)
        value = tf / spread / length * math.log(texts / frequency)
        if value != 0.0:
            terms[filled] = term
            values[filled] = value
            filled += 1
    if options.unit_length:
        scale_to_unit_length(values[first:filled])
    return filled


@njit
def vectorise_next(
    counts: TermCounts, ready: Bools, ids: Ints, vocabulary: VocabularyArrays,
    options: WeightOptions, usefulness: Usefulness, out: VectorBuffer,
) -> None:  # fmt: skip
    """Write the vectors of all rows to `out`."""
    longest = 0
    for row in range(len(ready)):
        longest = max(longest, counts.starts[row + 1] - counts.starts[row])
    room = np.empty(longest, np.int32)
    filled = 0
    for row in range(len(ready)):
        row_terms = counts.terms[counts.starts[row] : counts.starts[row + 1]]
        row_values = counts.values[counts.starts[row] : counts.starts[row + 1]]
        absent = look_up(row_terms, ids, counts.table, vocabulary.table)
        numbers = room[: len(row_terms)]
        number_terms(row_terms, ids, absent, vocabulary, options, usefulness, numbers)
        if ready[row]:
            for i in range(len(numbers)):
                if numbers[i] >= 0 and row_values[i] != 0.0:
                    out.terms[filled] = numbers[i]
                    out.values[filled] = row_values[i]
                    filled += 1
        else:
            filled = weigh_next(numbers, row_values, vocabulary, options, out, filled)
        out.starts[row + 1] = filled


class NextVectors:
    """Makes vectors with the statistics of a vocabulary, which must not change any more."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        settings = vocabulary.settings
        self._arrays = vocabulary.arrays
        self._options = settings.options(vocabulary.frozen)
        size, totals = len(vocabulary), self._arrays.totals
        silence = totals[DOCUMENTS] - self._arrays.last_use[:size] + 1
        useful = self._arrays.uses[:size] / silence
        most = settings.max_terms - settings.max_terms // 4
        self._usefulness = Usefulness(useful, np.sort(-useful), most)
        self.terms = size + 1  # the vocabulary, and one number for all new terms

    def vectors(self, counts: TermCounts, ready: Bools) -> Rows:
        """Return the vectors of a block; rows marked `ready` hold features as they are."""
        counts = counts._replace(table=with_key(counts.table, self._arrays.table.key))
        ids = np.full(int(counts.table.size[0]), UNSEEN, np.int32)
        entries = int(counts.starts[-1])
        out = VectorBuffer(
            np.zeros(len(ready) + 1, np.int64), np.empty(entries, np.int32), np.empty(entries)
        )
        vectorise_next(counts, ready, ids, self._arrays, self._options, self._usefulness, out)
        filled = out.starts[-1]
        return Rows(out.starts, out.terms[:filled], out.values[:filled])
