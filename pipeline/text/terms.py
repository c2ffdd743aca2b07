"""Terms as numbers: an open-addressing hash table over a buffer of bytes, used by compiled code.

The tokenizer has one table per block (the terms of the block, in order of first appearance), and
the vocabulary has one for the stream. Two terms are the same only if their bytes are equal: the
hash leads to a slot, the bytes decide. The hash has a secret key (`pipeline/text/sip_hash.py`), so
no stream can be prepared in which many terms lead to the same slot. A hash is only good for tables
with the same key.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from learners.arrays import Bytes, Ints, Longs
from learners.jit import njit, njit_inline
from pipeline.text.sip_hash import PROCESS_KEY, Hashes, sip_hash

MAX_TERM_BYTES = 255  # a longer run is not a word, but encoded data or text without spaces


class TermTable(NamedTuple):
    """The arrays of a table of `size[0]` terms; term i is `letters[ends[i]:ends[i + 1]]`."""

    slots: Ints  # the number of a term, or -1 if the slot is empty; a power of two of them
    hashes: Hashes
    ends: Longs
    letters: Bytes
    size: Longs
    key: Hashes  # two secret numbers, for the hash


@njit
def empty_table(terms: int, letters: int, key: Hashes) -> TermTable:
    """Return a table with room for this many terms and letters."""
    slots = 16
    while slots < 2 * terms:
        slots *= 2
    return TermTable(
        np.full(slots, -1, np.int32),
        np.empty(terms, np.uint64),
        np.zeros(terms + 1, np.int64),
        np.empty(letters, np.uint8),
        np.zeros(1, np.int64),
        key,
    )


@njit
def find(table: TermTable, letters: Bytes, start: int, end: int, hashed: np.uint64) -> int:
    """Return the number of the term `letters[start:end]`, or -1 - s where s is its free slot."""
    slots, hashes, ends, known = table.slots, table.hashes, table.ends, table.letters
    last = len(slots) - 1
    slot = np.int64(hashed & np.uint64(last))
    while slots[slot] >= 0:
        term = slots[slot]
        if hashes[term] == hashed and ends[term + 1] - ends[term] == end - start:
            offset = ends[term] - start
            i = start
            while i < end and known[offset + i] == letters[i]:
                i += 1
            if i == end:
                return int(term)
        slot = (slot + 1) & last
    return int(-1 - slot)


@njit_inline
def likely_slot(slots: Ints, hashes: Hashes, hashed: np.uint64) -> np.uint64:
    """Return the first slot of a table that is free or has a term with this hash.

    The caller compares the bytes, and calls `find` if they differ. For hot loops: to pass a whole
    table to a function takes longer than to find a term.
    """
    last = np.uint64(len(slots) - 1)
    slot = hashed & last
    while slots[slot] >= 0 and hashes[slots[slot]] != hashed:
        slot = (slot + np.uint64(1)) & last
    return slot


@njit
def add(
    table: TermTable, letters: Bytes, start: int, end: int, hashed: np.uint64, slot: int
) -> int:
    """Add a term to the table at its free slot; return its number. There must be room."""
    term = table.size[0]
    at = table.ends[term]
    for i in range(end - start):
        table.letters[at + i] = letters[start + i]
    table.hashes[term] = hashed
    table.ends[term + 1] = at + end - start
    table.slots[slot] = term
    table.size[0] = term + 1
    return int(term)


@njit
def intern(table: TermTable, letters: Bytes, start: int, end: int) -> int:
    """Return the number of the term `letters[start:end]`; add it if it is new. Needs room."""
    hashed = sip_hash(letters, start, end, table.key)
    term = find(table, letters, start, end, hashed)
    return term if term >= 0 else add(table, letters, start, end, hashed, -1 - term)


@njit
def copied(table: TermTable, keep: Longs, terms: int, letters: int) -> TermTable:
    """Return a table of the terms `keep`, numbered in that order, with room for more of them."""
    kept = empty_table(len(keep) + terms, table.ends[table.size[0]] + letters, table.key)
    for term in keep:
        start, end, hashed = table.ends[term], table.ends[term + 1], table.hashes[term]
        slot = -1 - find(kept, table.letters, start, end, hashed)
        add(kept, table.letters, start, end, hashed, slot)
    return kept


@njit
def enlarged(table: TermTable, terms: int, letters: int) -> TermTable:
    """Return a table of the same terms and numbers with room for more of them."""
    size = table.size[0]
    used = table.ends[size]
    larger = empty_table(size + terms, used + letters, table.key)
    larger.hashes[:size] = table.hashes[:size]
    larger.ends[: size + 1] = table.ends[: size + 1]
    larger.letters[:used] = table.letters[:used]
    larger.size[0] = size
    slots, last = larger.slots, np.uint64(len(larger.slots) - 1)
    for term in range(size):  # all terms differ, so the first free slot is the right one
        slot = table.hashes[term] & last
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        slots[slot] = term
    return larger


@njit
def is_full(table: TermTable) -> bool:
    """Return whether the table may lack room for one more term of the greatest length."""
    size = table.size[0]
    room = len(table.letters) - table.ends[size]
    return bool(size == len(table.hashes) or room < MAX_TERM_BYTES)


@njit
def doubled(table: TermTable) -> TermTable:
    """Return a table of the same terms with twice the room."""
    # Either the letters or the terms may be full: both get more room.
    more = len(table.letters) + 2 * MAX_TERM_BYTES
    return enlarged(table, len(table.hashes) + 64, more)


@njit
def rebuilt(ends: Longs, letters: Bytes, key: Hashes) -> TermTable:
    """Return a table of the terms that lie one after another in `letters`."""
    table = empty_table(len(ends) - 1, len(letters), key)
    for term in range(len(ends) - 1):
        intern(table, letters, ends[term], ends[term + 1])
    return table


def check_words(ends: Longs, letters: Bytes) -> None:
    """Raise ValueError unless each term, from one end to the next, is text in UTF-8."""
    letters.tobytes().decode()
    starts = ends[:-1][ends[:-1] < len(letters)]
    if ((letters[starts] & 0xC0) == 0x80).any():
        raise ValueError("a term begins in the middle of a character")


def with_key(table: TermTable, key: Hashes) -> TermTable:
    """Return a table of the same terms and numbers with this key: the table itself if it has it."""
    if np.array_equal(table.key, key):
        return table
    used = int(table.size[0])
    return rebuilt(table.ends[: used + 1], table.letters[: table.ends[used]], key)


def word_of(table: TermTable, term: int) -> str:
    """Return a term as a string."""
    return table.letters[table.ends[term] : table.ends[term + 1]].tobytes().decode()


def words_of(table: TermTable) -> list[str]:
    """Return the terms as strings, by number."""
    letters = table.letters.tobytes()
    ends = table.ends[: table.size[0] + 1].tolist()
    return [letters[a:b].decode() for a, b in pairwise(ends)]


def table_of(words: Sequence[str], key: Hashes = PROCESS_KEY) -> TermTable:
    """Return a table of these words, numbered in their order."""
    letters = bytearray("".join(words).encode())
    lengths = map(len, words) if letters.isascii() else (len(word.encode()) for word in words)
    ends = np.cumsum([0, *lengths], dtype=np.int64)
    return rebuilt(ends, np.frombuffer(letters, np.uint8), key)
