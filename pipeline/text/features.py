"""From counted terms to vectors: the vocabulary and pivoted length normalisation.

With d the count of a term in a document of m_i distinct terms and mean count avg, u the number of
documents that hold the term, m the number of documents and P the mean of m_i::

    x = (1 + ln d) / (1 + ln avg) / ((1 - slope) + slope m_i / P) * ln(m / u)

m, u and P run along with the stream, the present document included (*running*, the default), or
stay as they were when `freeze` was called (*frozen*, as in the papers).

The vocabulary has a ceiling. A term gets a number when it is first seen and counts as a feature
from its `min_df`-th document on. When a document would take the vocabulary past `max_terms`, a
quarter of the terms leave first: those with the lowest `documents with it / documents since it was
last seen`, which a frequent term survives for long and a rare one only while it is fresh. A term
that comes back starts anew. All of this happens at the document that causes it, so a vector never
depends on how the stream was cut into blocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from learners.arrays import Bools, Floats, Ints, Longs
from learners.jit import njit
from learners.learner import State
from learners.segment import Rows
from pipeline.errors import UsageError
from pipeline.text.terms import TermTable, add, copied, empty_table, find, rebuilt
from pipeline.text.tokenizer import TermCounts

UNSEEN = -2  # a term of the block that was not looked up yet
ABSENT = -1  # a term that was looked up and is not in the vocabulary

DOCUMENTS, TEXTS, DISTINCT, REFUSED = range(4)  # places in a vocabulary's tally


@dataclass(frozen=True, slots=True)
class FeatureSettings:
    """How text becomes vectors."""

    max_terms: int = 1 << 17
    min_df: int = 1
    slope: float = 0.3

    def __post_init__(self) -> None:
        if self.max_terms < 16:
            raise UsageError(f"max_terms must be at least 16. Got {self.max_terms}.")
        if self.min_df < 1:
            raise UsageError(f"min_df must be at least 1. Got {self.min_df}.")
        if not 0 <= self.slope <= 1:
            raise UsageError(f"slope must be from 0 to 1. Got {self.slope}.")


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of some rows of a block, all in one numbering of the vocabulary."""

    first: int  # the row of the block that comes first here
    rows: Rows
    terms: int  # size of the vocabulary after these rows
    keep: Longs | None  # before these rows the vocabulary was cut down to these of its terms

    def pieces(self, most: int) -> Iterator[Vectors]:
        """The same in pieces of at most so many rows."""
        if len(self.rows) <= most:
            yield self
            return
        for start in range(0, len(self.rows), most):
            rows = self.rows.between(start, min(start + most, len(self.rows)))
            keep = None if start else self.keep
            yield Vectors(self.first + start, rows, self.terms, keep)


# 1 + ln d of small counts, which nearly all are.
TF = np.array([0.0, *(1.0 + math.log(count) for count in range(1, 64))])


@njit
def look_up(mine: Ints, ids: Ints, block_table: TermTable, table: TermTable) -> int:
    """Find a document's terms in the vocabulary; return how many are not in it."""
    absent = 0
    for term in mine:
        if ids[term] == UNSEEN:
            start, end = block_table.ends[term], block_table.ends[term + 1]
            found = find(table, block_table.letters, start, end, block_table.hashes[term])
            ids[term] = max(found, ABSENT)
        absent += ids[term] == ABSENT
    return absent


@njit
def admit(mine: Ints, ids: Ints, block_table: TermTable, table: TermTable, max_terms: int) -> int:
    """Give a document's new terms a number while there is room; return how many got none."""
    refused = 0
    for term in mine:
        if ids[term] != ABSENT:
            continue
        if table.size[0] >= max_terms:
            refused += 1
            continue
        start, end = block_table.ends[term], block_table.ends[term + 1]
        hashed = block_table.hashes[term]
        place = -1 - find(table, block_table.letters, start, end, hashed)
        ids[term] = add(table, block_table.letters, start, end, hashed, place)
    return refused


@njit
def weigh(
    mine: Ints, counts: Floats, ids: Ints, df: Longs, tally: Longs, min_df: int, slope: float,
    frozen: bool, terms: Ints, values: Floats, filled: int,
) -> int:  # fmt: skip
    """Write the pivoted weights of one text behind the first `filled` entries."""
    distinct = 0
    total = 0.0
    for i in range(len(mine)):
        term = ids[mine[i]]
        if term >= 0 and df[term] >= min_df:
            terms[filled + distinct] = term
            values[filled + distinct] = counts[i]
            distinct += 1
            total += counts[i]
    if not frozen:
        tally[TEXTS] += 1
        tally[DISTINCT] += distinct
    if distinct == 0:
        return filled
    texts = tally[TEXTS]
    spread = 1.0 + math.log(total / distinct)
    length = (1.0 - slope) + slope * distinct / (tally[DISTINCT] / texts)
    last = filled + distinct
    for i in range(filled, last):
        term, count = terms[i], values[i]
        tf = TF[int(count)] if count < len(TF) else 1.0 + math.log(count)
        value = tf / spread / length * math.log(texts / df[term])
        if value != 0.0:  # a term of every document says nothing
            terms[filled] = term
            values[filled] = value
            filled += 1
    return filled


@njit
def vectorise(
    row: int, starts: Longs, block_terms: Ints, counts: Floats, ready: Bools, ids: Ints,
    block_table: TermTable, table: TermTable, df: Longs, uses: Longs, last_use: Longs, tally: Longs,
    max_terms: int, min_df: int, slope: float, frozen: bool, made_room: bool,
    out_starts: Longs, terms: Ints, values: Floats,
) -> int:  # fmt: skip
    """Turn rows into vectors from `row` on; return the row that room must be made for first."""
    first = row
    filled = 0
    while row < len(ready):
        mine = block_terms[starts[row] : starts[row + 1]]
        amounts = counts[starts[row] : starts[row + 1]]
        absent = look_up(mine, ids, block_table, table)
        if not frozen:
            if absent > 0 and table.size[0] + absent > max_terms and not made_room:
                for term in mine:
                    if ids[term] >= 0:
                        last_use[ids[term]] = tally[DOCUMENTS]  # needed now: not the one to leave
                return row
            if absent > 0:
                tally[REFUSED] += admit(mine, ids, block_table, table, max_terms)
            made_room = False
            for term in mine:
                if ids[term] >= 0:
                    uses[ids[term]] += 1
                    last_use[ids[term]] = tally[DOCUMENTS]
                    df[ids[term]] += not ready[row]
            tally[DOCUMENTS] += 1
        if ready[row]:
            for i in range(len(mine)):
                if ids[mine[i]] >= 0 and amounts[i] != 0.0:
                    terms[filled] = ids[mine[i]]
                    values[filled] = amounts[i]
                    filled += 1
        else:
            filled = weigh(
                mine, amounts, ids, df, tally, min_df, slope, frozen, terms, values, filled
            )
        row += 1
        out_starts[row - first] = filled
    return row


class Vocabulary:
    """The terms of a stream, their document frequencies, and the vectors made with them."""

    def __init__(self, settings: FeatureSettings | None = None) -> None:
        self.settings = settings or FeatureSettings()
        self.frozen = False
        self.table = empty_table(0, 0)
        self._df: Longs = np.zeros(0, np.int64)
        self._uses: Longs = np.zeros(0, np.int64)
        self._last_use: Longs = np.zeros(0, np.int64)
        self._tally: Longs = np.zeros(4, np.int64)

    def __len__(self) -> int:
        return int(self.table.size[0])

    @property
    def refused(self) -> int:
        """New terms that found no room, because one document alone had too many."""
        return int(self._tally[REFUSED])

    def freeze(self) -> None:
        """From now on use the statistics as they are; terms not known by now are passed over."""
        self.frozen = True

    def vectors(self, counts: TermCounts, ready: Bools) -> Iterator[Vectors]:
        """The vectors of a block, in as many pieces as the vocabulary has numberings.

        Rows marked `ready` hold features that are used as they are; the others are term counts.
        """
        ids = np.full(int(counts.table.size[0]), UNSEEN, np.int32)
        row, rows = 0, len(ready)
        keep: Longs | None = None
        while True:
            self._reserve(counts.table)
            left = int(counts.starts[-1] - counts.starts[row])
            starts = np.zeros(rows - row + 1, np.int64)
            terms, values = np.empty(left, np.int32), np.empty(left)
            settings = self.settings
            stop = vectorise(
                row, counts.starts, counts.terms, counts.values, ready, ids,
                counts.table, self.table, self._df, self._uses, self._last_use, self._tally,
                settings.max_terms, settings.min_df, settings.slope, self.frozen, keep is not None,
                starts, terms, values,
            )  # fmt: skip
            starts = starts[: stop - row + 1]
            filled = starts[-1]
            yield Vectors(row, Rows(starts, terms[:filled], values[:filled]), len(self), keep)
            if stop == rows:
                return
            row = stop
            keep = self._make_room(ids)

    def _reserve(self, arriving: TermTable) -> None:
        """Have room for the terms of a block, whether they are new or not."""
        size, letters = len(self), int(self.table.ends[len(self)])
        terms, more = int(arriving.size[0]), int(arriving.ends[arriving.size[0]])
        if size + terms > len(self.table.hashes) or letters + more > len(self.table.letters):
            everything = np.arange(size, dtype=np.int64)
            self.table = copied(self.table, everything, max(size, terms), max(letters, more))
        more = len(self.table.hashes) - len(self._df)
        if more > 0:
            self._df, self._uses, self._last_use = (
                np.concatenate((old, np.zeros(more, np.int64)))
                for old in (self._df, self._uses, self._last_use)
            )

    def _make_room(self, ids: Ints) -> Longs:
        """Drop the least useful quarter of the vocabulary; return the terms that stay."""
        size = len(self)
        silence = self._tally[DOCUMENTS] - self._last_use[:size] + 1
        useful = self._uses[:size] / silence
        most = self.settings.max_terms - self.settings.max_terms // 4
        keep = np.sort(np.argsort(-useful, kind="stable")[:most])
        self.table = copied(self.table, keep, 0, 0)
        self._df, self._uses = self._df[keep], self._uses[keep]
        self._last_use = self._last_use[keep]
        renumbered = np.full(size, ABSENT, np.int32)
        renumbered[keep] = np.arange(len(keep), dtype=np.int32)
        found = ids >= 0
        ids[found] = renumbered[ids[found]]
        return keep

    def state(self) -> State:
        """Everything that later vectors depend on, as named arrays (copies)."""
        size = len(self)
        return {
            "ends": self.table.ends[: size + 1].copy(),
            "letters": self.table.letters[: self.table.ends[size]].copy(),
            "df": self._df[:size].copy(),
            "uses": self._uses[:size].copy(),
            "last_use": self._last_use[:size].copy(),
            "tally": self._tally.copy(),
            "frozen": np.array(self.frozen),
        }

    def restore(self, state: Mapping[str, npt.NDArray[np.generic]]) -> None:
        """Go on from a state that `state` gave."""
        self.table = rebuilt(
            np.array(state["ends"], np.int64), np.array(state["letters"], np.uint8)
        )
        self._df = np.array(state["df"], np.int64)
        self._uses = np.array(state["uses"], np.int64)
        self._last_use = np.array(state["last_use"], np.int64)
        self._tally = np.array(state["tally"], np.int64)
        self.frozen = bool(state["frozen"])
