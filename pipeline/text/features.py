"""From counted terms to vectors: the vocabulary and pivoted length normalisation.

The weight of a term in a text is::

    x = (1 + ln d) / (1 + ln avg) / ((1 - slope) + slope m_i / P) * ln(m / u)

    d    count of the term in this text          u    number of texts that hold the term
    avg  mean count of the terms of this text    m    number of texts
    m_i  number of distinct terms of this text   P    mean of m_i over all texts

m, u and P are counted along the stream, the present text included (*running*, the default), or
stay as they were when `freeze` was called (*frozen*, as in the papers).

The vocabulary has a ceiling. A term gets a number when it is first seen, and becomes a feature once
`min_df` texts hold it. When a document would take the vocabulary past `max_terms`, a quarter of the
terms is dropped first: those with the lowest `documents with the term / documents since it was last
seen`. A frequent term survives for long, a rare one only while it is fresh. A dropped term that
comes back is counted from 0 again. All of this happens at the document that causes it, so a vector
never depends on how the stream was cut into blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs
from learners.checks import (
    InvalidArrayError,
    bools,
    check_extent,
    letters,
    longs,
    starts,
)
from learners.jit import njit
from learners.learner import State
from learners.segment import Rows
from pipeline.text.feature_settings import FeatureSettings, WeightOptions
from pipeline.text.sip_hash import PROCESS_KEY, Hashes
from pipeline.text.terms import (
    MAX_TERM_BYTES,
    TermTable,
    add,
    check_words,
    copied,
    empty_table,
    find,
    rebuilt,
    with_key,
)
from pipeline.text.tokenizer import TermCounts

UNSEEN = -2  # a term of the block that was not looked up yet
ABSENT = -1  # a term that was looked up and is not in the vocabulary

TERM_BYTES = 8 + 8 + 3 * 8 + 4 * 4  # hash, end, three counts, and up to four slots of the table

TOTALS = DOCUMENTS, TEXTS, DISTINCT, REFUSED = range(4)  # columns of `VocabularyArrays.totals`


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of consecutive rows of a block, all in one numbering of the vocabulary."""

    first: int  # row of the block that the first vector belongs to
    rows: Rows
    terms: int  # size of the vocabulary after these rows
    keep: Longs | None  # the terms that the vocabulary kept when it was cut before these rows

    def split(self, max_rows: int) -> Iterator[Vectors]:
        """Yield the same vectors in parts of at most `max_rows` rows."""
        if len(self.rows) <= max_rows:
            yield self
            return
        for start in range(0, len(self.rows), max_rows):
            rows = self.rows.between(start, min(start + max_rows, len(self.rows)))
            keep = None if start else self.keep
            yield Vectors(self.first + start, rows, self.terms, keep)


class VocabularyArrays(NamedTuple):
    """The terms of a vocabulary and their counts, as kernels take them. Longer than in use."""

    table: TermTable
    df: Longs  # texts that hold each term
    uses: Longs  # documents that hold each term: texts, and rows of ready-made features
    last_use: Longs  # number of the last document that holds each term
    totals: Longs  # documents, texts, distinct terms summed over texts, refused terms


class VectorBuffer(NamedTuple):
    """Room for the vectors of some rows; row i is written to `starts[i]` up to `starts[i + 1]`."""

    starts: Longs
    terms: Ints
    values: Floats


# 1 + ln d for small d: nearly all counts are small.
TF = np.array([0.0, *(1.0 + math.log(count) for count in range(1, 64))])


@njit
def look_up(row_terms: Ints, ids: Ints, block_table: TermTable, table: TermTable) -> int:
    """Find a document's terms in the vocabulary; return how many of them it lacks."""
    absent = 0
    for term in row_terms:
        if ids[term] == UNSEEN:
            start, end = block_table.ends[term], block_table.ends[term + 1]
            number = find(table, block_table.letters, start, end, block_table.hashes[term])
            ids[term] = max(number, ABSENT)
        absent += ids[term] == ABSENT
    return absent


@njit
def admit(
    row_terms: Ints, ids: Ints, block_table: TermTable, table: TermTable, max_terms: int
) -> int:
    """Number a document's new terms while there is room; return how many got no number."""
    refused = 0
    for term in row_terms:
        if ids[term] != ABSENT:
            continue
        if table.size[0] >= max_terms:
            refused += 1
            continue
        start, end = block_table.ends[term], block_table.ends[term + 1]
        hashed = block_table.hashes[term]
        slot = -1 - find(table, block_table.letters, start, end, hashed)
        ids[term] = add(table, block_table.letters, start, end, hashed, slot)
    return refused


@njit
def weigh(
    row_terms: Ints, counts: Floats, ids: Ints, vocabulary: VocabularyArrays,
    options: WeightOptions, out: VectorBuffer, filled: int,
) -> int:  # fmt: skip
    """Write the pivoted weights of one text behind the first `filled` entries of `out`.

    Returns the number of entries then.
    """
    df, totals, terms, values = vocabulary.df, vocabulary.totals, out.terms, out.values
    distinct = 0
    total = 0.0
    for i in range(len(row_terms)):
        term = ids[row_terms[i]]
        if term >= 0 and df[term] >= options.min_df:
            terms[filled + distinct] = term
            values[filled + distinct] = counts[i]
            distinct += 1
            total += counts[i]
    if not options.frozen:
        totals[TEXTS] += 1
        totals[DISTINCT] += distinct
    if distinct == 0:
        return filled
    texts = totals[TEXTS]
    spread = 1.0 + math.log(total / distinct)
    pivot = options.pivot if options.pivot > 0.0 else totals[DISTINCT] / texts
    length = (1.0 - options.slope) + options.slope * distinct / pivot
    first, last = filled, filled + distinct
    for i in range(filled, last):
        term, count = terms[i], values[i]
        tf = TF[int(count)] if count < len(TF) else 1.0 + math.log(count)
        value = tf / spread / length * math.log(texts / df[term])
        if value != 0.0:  # 0 for a term that every text holds: it tells no texts apart
            terms[filled] = term
            values[filled] = value
            filled += 1
    if options.unit_length:
        scale_to_unit_length(values[first:filled])
    return filled


@njit
def scale_to_unit_length(values: Floats) -> None:
    """Divide a vector by its length; a vector without values stays as it is."""
    squares = 0.0
    for value in values:
        squares += value * value
    length = math.sqrt(squares)
    if length > 0.0:
        for i in range(len(values)):
            values[i] /= length


@njit
def vectorise(
    counts: TermCounts, ready: Bools, row: int, has_room: bool, ids: Ints,
    vocabulary: VocabularyArrays, options: WeightOptions, out: VectorBuffer,
) -> int:  # fmt: skip
    """Write the vectors of the rows from `row` on to `out`; return the row at which it stopped.

    It stops before a row whose new terms do not fit into the vocabulary, for the caller to make
    room. With `has_room` it takes the first row in any case, and refuses the terms that do not fit.
    `ids` holds the number that each term of the block has in the vocabulary, as far as known.
    """
    block_table, table, totals = counts.table, vocabulary.table, vocabulary.totals
    first = row
    filled = 0
    while row < len(ready):
        row_terms = counts.terms[counts.starts[row] : counts.starts[row + 1]]
        row_values = counts.values[counts.starts[row] : counts.starts[row + 1]]
        absent = look_up(row_terms, ids, block_table, table)
        if not options.frozen:
            if absent > 0 and table.size[0] + absent > options.max_terms and not has_room:
                for term in row_terms:
                    if ids[term] >= 0:  # needed by this row, so it must not be dropped now
                        vocabulary.last_use[ids[term]] = totals[DOCUMENTS]
                return row
            if absent > 0:
                totals[REFUSED] += admit(row_terms, ids, block_table, table, options.max_terms)
            has_room = False
            for term in row_terms:
                if ids[term] >= 0:
                    vocabulary.uses[ids[term]] += 1
                    vocabulary.last_use[ids[term]] = totals[DOCUMENTS]
                    vocabulary.df[ids[term]] += not ready[row]
            totals[DOCUMENTS] += 1
        if ready[row]:
            for i in range(len(row_terms)):
                if ids[row_terms[i]] >= 0 and row_values[i] != 0.0:
                    out.terms[filled] = ids[row_terms[i]]
                    out.values[filled] = row_values[i]
                    filled += 1
        else:
            filled = weigh(row_terms, row_values, ids, vocabulary, options, out, filled)
        row += 1
        out.starts[row - first] = filled
    return row


class Vocabulary:
    """The terms of a stream, their document frequencies, and the vectors made with them.

    Examples
    --------
    >>> from pipeline.text.tokenizer import Tokenizer
    >>> vocabulary = Vocabulary()
    >>> counts = Tokenizer().count(["wheat wheat corn", "corn oil oil oil oil"])
    >>> (vectors,) = vocabulary.vectors(counts, np.zeros(2, np.bool_))
    >>> vectors.rows.row(1)  # corn is in both texts, so only oil (term 2) has a weight
    (array([2], dtype=int32), array([0.86315]))

    """

    def __init__(self, settings: FeatureSettings | None = None, key: Hashes = PROCESS_KEY) -> None:
        self.settings = settings or FeatureSettings()
        self.frozen = False
        none, totals = np.zeros(0, np.int64), np.zeros(4, np.int64)
        self._arrays = VocabularyArrays(empty_table(0, 0, key), none, none, none, totals)

    def __len__(self) -> int:
        return int(self.table.size[0])

    @property
    def arrays(self) -> VocabularyArrays:
        """The terms and their counts, as kernels take them; not copies."""
        return self._arrays

    @property
    def table(self) -> TermTable:
        """The terms by number."""
        return self._arrays.table

    @property
    def refused(self) -> int:
        """New terms that got no number, because their document alone had too many."""
        return int(self._arrays.totals[REFUSED])

    def size_bytes(self) -> int:
        """Memory of the terms and their counts, as far as they are in use."""
        return TERM_BYTES * len(self) + int(self.table.ends[len(self)])

    def max_bytes(self) -> int:
        """The most that `size_bytes` can be."""
        return (TERM_BYTES + MAX_TERM_BYTES) * self.settings.max_terms

    def freeze(self) -> None:
        """From now on, use the statistics as they are and ignore new terms."""
        self.frozen = True

    def vectors(self, counts: TermCounts, ready: Bools) -> Iterator[Vectors]:
        """Yield the vectors of a block, in as many parts as the vocabulary has numberings.

        Rows marked `ready` hold features that are used as they are; the others are term counts.
        """
        counts = counts._replace(table=with_key(counts.table, self.table.key))
        ids = np.full(int(counts.table.size[0]), UNSEEN, np.int32)
        row, rows = 0, len(ready)
        keep: Longs | None = None
        options = self.settings.options(self.frozen)
        while True:
            self._reserve(counts.table)
            entries = int(counts.starts[-1] - counts.starts[row])
            out = VectorBuffer(
                np.zeros(rows - row + 1, np.int64), np.empty(entries, np.int32), np.empty(entries)
            )
            stop = vectorise(counts, ready, row, keep is not None, ids, self._arrays, options, out)
            starts = out.starts[: stop - row + 1]
            filled = starts[-1]
            vectors = Rows(starts, out.terms[:filled], out.values[:filled])
            yield Vectors(row, vectors, len(self), keep)
            if stop == rows:
                return
            row = stop
            keep = self._make_room(ids)

    def _reserve(self, arriving: TermTable) -> None:
        """Have room for all terms of a block, as if all of them were new."""
        table, df, uses, last_use, totals = self._arrays
        size, letters = len(self), int(table.ends[len(self)])
        terms, more = int(arriving.size[0]), int(arriving.ends[arriving.size[0]])
        if size + terms > len(table.hashes) or letters + more > len(table.letters):
            everything = np.arange(size, dtype=np.int64)
            table = copied(table, everything, max(size, terms), max(letters, more))
        more = len(table.hashes) - len(df)
        if more > 0:
            df, uses, last_use = (
                np.concatenate((old, np.zeros(more, np.int64))) for old in (df, uses, last_use)
            )
        self._arrays = VocabularyArrays(table, df, uses, last_use, totals)

    def _make_room(self, ids: Ints) -> Longs:
        """Drop the least useful quarter of the vocabulary; return the terms that stay."""
        table, df, uses, last_use, totals = self._arrays
        size = len(self)
        silence = totals[DOCUMENTS] - last_use[:size] + 1
        useful = uses[:size] / silence
        most = self.settings.max_terms - self.settings.max_terms // 4
        keep = np.sort(np.argsort(-useful, kind="stable")[:most])
        self._arrays = VocabularyArrays(
            copied(table, keep, 0, 0), df[keep], uses[keep], last_use[keep], totals
        )
        renumbered = np.full(size, ABSENT, np.int32)
        renumbered[keep] = np.arange(len(keep), dtype=np.int32)
        numbered = ids >= 0
        ids[numbered] = renumbered[ids[numbered]]
        return keep

    def state(self) -> State:
        """Everything that later vectors depend on, as named arrays (copies)."""
        table, df, uses, last_use, totals = self._arrays
        size = len(self)
        return {
            "ends": table.ends[: size + 1].copy(),
            "letters": table.letters[: table.ends[size]].copy(),
            "df": df[:size].copy(),
            "uses": uses[:size].copy(),
            "last_use": last_use[:size].copy(),
            "tally": totals.copy(),
            "frozen": np.array(self.frozen),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Continue from a state that `state` returned."""
        known = letters(state, "letters")
        ends = starts(state, "ends", len(known))
        size = len(ends) - 1
        check_extent("ends", size, self.settings.max_terms, "terms (max_terms)")
        check_words(ends, known)
        totals = longs(state, "tally", len(TOTALS))
        df, uses = longs(state, "df", size), longs(state, "uses", size)
        last_use = longs(state, "last_use", size, below=int(totals[DOCUMENTS]) + 1)
        has_features = bool((df >= self.settings.min_df).any())
        if has_features and not (totals[TEXTS] > 0 and totals[DISTINCT] > 0):
            raise InvalidArrayError("array tally has no texts, but array df counts some")
        frozen = bool(bools(state, "frozen"))
        table = rebuilt(ends.copy(), known.copy(), self.table.key)
        if table.size[0] != size:
            raise InvalidArrayError("arrays ends and letters have the same term twice")
        self._arrays = VocabularyArrays(
            table, df.copy(), uses.copy(), last_use.copy(), totals.copy()
        )
        self.frozen = frozen
