"""From tokens to terms, in compiled code: stems, n-grams of letters, and terms of titles.

The tokens of a block are counted first. Then each distinct token becomes its terms, once per block
and language, and the counts of the terms are added up for each document. So the work for stems and
n-grams grows with the distinct tokens of a block, not with its length.

A token becomes its main term (the stem, or the token itself) and the n-grams of its letters. These
have a star where the word goes on: `whe*`, `*hea*` and `*eat` are the 3-grams of wheat. A term of a
title begins with `title:`. No word contains a star or a colon, so nothing is confused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learners.arrays import Bools, Bytes, Floats, Ints, Longs
from learners.jit import njit, njit_inline
from pipeline.text.characters import ACCENTED, DIGIT, LETTER, MARK
from pipeline.text.scan import code_point
from pipeline.text.sip_hash import Hashes, sip_hash
from pipeline.text.terms import (
    MAX_TERM_BYTES,
    TermTable,
    add,
    copied,
    find,
    intern,
    likely_slot,
)

STAR = ord("*")
TITLE_PREFIX = np.frombuffer(bytearray(b"title:"), np.uint8)
TITLE_WEIGHT = 2.0


class MainTerms(NamedTuple):
    """What each token of a block becomes: `letters[starts[i]:ends[i]]`; nothing for a stop word."""

    letters: Bytes
    starts: Longs
    ends: Longs
    hashes: Hashes


class Expansion(NamedTuple):
    """The terms of each token: those of token i are `terms[starts[i]:starts[i + 1]]`."""

    starts: Longs
    terms: Ints
    title_terms: Ints  # per token: the term of titles, or -1


class CountedTokens(NamedTuple):
    """Rows of counted tokens, one for each part of a document.

    With two parts per document, row 2 i is the title of document i and row 2 i + 1 its text.
    """

    starts: Longs
    tokens: Ints
    values: Floats
    parts: int


@njit_inline
def with_room(table: TermTable, terms: int, letters: int) -> TermTable:
    """Return the table, or a larger one if it lacks room for this many terms and letters."""
    size = table.size[0]
    if size + terms <= len(table.hashes) and table.ends[size] + letters <= len(table.letters):
        return table
    return copied(table, np.arange(size), size + terms, int(table.ends[size]) + letters)


@njit
def used_tokens(counted: CountedTokens, groups: Ints, group: int, part: int, tokens: int) -> Bools:
    """Return which tokens occur in this part of the documents of a group."""
    used = np.zeros(tokens, np.bool_)
    for document in range(len(groups)):
        if groups[document] == group:
            row = counted.parts * document + part
            for token in counted.tokens[counted.starts[row] : counted.starts[row + 1]]:
                used[token] = True
    return used


@njit
def known_numbers(tokens: TermTable, used: Bools, known: TermTable) -> Longs:
    """Return the number of each used token in another table, or -1. The keys must be equal."""
    slots, hashes, ends, letters = known.slots, known.hashes, known.ends, known.letters
    numbers = np.full(len(used), -1, np.int64)
    for token in range(len(used)):
        if used[token]:
            start, end, hashed = tokens.ends[token], tokens.ends[token + 1], tokens.hashes[token]
            number = slots[likely_slot(slots, hashes, hashed)]
            if number >= 0:
                i, offset = start, ends[number] - start
                while i < end and letters[offset + i] == tokens.letters[i]:
                    i += 1
                if i < end or ends[number + 1] != offset + end:
                    number = max(find(known, tokens.letters, start, end, hashed), -1)
            numbers[token] = number
    return numbers


@njit
def add_tokens(tokens: TermTable, chosen: Longs, known: TermTable) -> TermTable:
    """Return the other table with these tokens, which it did not have. The keys must be equal."""
    more = 0
    for token in chosen:
        more += tokens.ends[token + 1] - tokens.ends[token]
    known = with_room(known, len(chosen), more)
    for token in chosen:
        start, end, hashed = tokens.ends[token], tokens.ends[token + 1], tokens.hashes[token]
        slot = -1 - find(known, tokens.letters, start, end, hashed)
        add(known, tokens.letters, start, end, hashed, slot)
    return known


@njit
def hashes_of(letters: Bytes, ends: Longs, key: Hashes) -> Hashes:
    """Return the hashes of terms that lie one after another, from one end to the next."""
    hashes = np.empty(len(ends) - 1, np.uint64)
    for term in range(len(hashes)):
        hashes[term] = sip_hash(letters, ends[term], ends[term + 1], key)
    return hashes


@njit
def letter_bounds(letters: Bytes, start: int, end: int, kinds: Bytes, bounds: Longs) -> int:
    """Write where the letters of a token begin, each with its marks; return their number.

    0 if the token is not a word: characters of a script without spaces, or the token for numbers.
    """
    count = 0
    at = start
    while at < end:
        point, width = code_point(letters, at)
        kind = kinds[point]
        if kind in (LETTER, DIGIT, ACCENTED):
            bounds[count] = at
            count += 1
        elif kind != MARK or count == 0:
            return 0
        at += width
    bounds[count] = end
    return count


@njit
def expand(
    tokens: TermTable, used: Bools, main: MainTerms, kinds: Bytes, shortest: int, longest: int,
    table: TermTable,
) -> tuple[TermTable, Longs, Ints]:  # fmt: skip
    """Return the table with the terms of the used tokens, and which terms each token has.

    The n-grams of letters have from `shortest` to `longest` letters; there are none if `longest`
    is 0. The whole word is not among them.
    """
    lengths = longest - shortest + 1 if longest > 0 else 0
    ngrams, letters = 0, 0
    for token in range(len(used)):
        if used[token]:
            size = tokens.ends[token + 1] - tokens.ends[token]
            ngrams += lengths * size
            letters += main.ends[token] - main.starts[token]
    starts = np.zeros(len(used) + 1, np.int64)
    terms = np.empty(len(used) + ngrams, np.int32)
    if lengths == 0:
        table = with_room(table, len(used), letters)
        filled = put_main_terms(used, main, table, starts, terms)
        return table, starts, terms[:filled].copy()
    filled = 0
    token = 0
    while token < len(used):
        # A table that changes inside a loop is slow there, so it changes only if it is full.
        token, filled = put_terms(
            tokens, used, main, kinds, shortest, longest, table, token, filled, starts, terms
        )
        if token < len(used):
            table = with_room(table, 2 * (int(table.size[0]) + 1024), len(table.letters) + 65536)
    return table, starts, terms[:filled].copy()


@njit
def put_main_terms(
    used: Bools, main: MainTerms, table: TermTable, starts: Longs, terms: Ints
) -> int:
    """Write the main term of each used token; return their number. The table must have room."""
    slots, hashes, ends, letters, size = (
        table.slots, table.hashes, table.ends, table.letters, table.size
    )  # fmt: skip
    filled = 0
    for token in range(len(used)):
        start, end = main.starts[token], main.ends[token]
        if used[token] and start < end:
            hashed = main.hashes[token]
            slot = likely_slot(slots, hashes, hashed)
            term = int(slots[slot])
            if term < 0:
                term = int(size[0])
                offset = ends[term]
                for i in range(end - start):
                    letters[offset + i] = main.letters[start + i]
                hashes[term] = hashed
                ends[term + 1] = offset + end - start
                slots[slot] = term
                size[0] = term + 1
            else:
                i, offset = start, ends[term] - start
                while i < end and letters[offset + i] == main.letters[i]:
                    i += 1
                if i < end or ends[term + 1] != offset + end:
                    term = intern(table, main.letters, start, end)
            terms[filled] = term
            filled += 1
        starts[token + 1] = filled
    return filled


@njit
def put_terms(
    tokens: TermTable, used: Bools, main: MainTerms, kinds: Bytes, shortest: int, longest: int,
    table: TermTable, token: int, filled: int, starts: Longs, terms: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Write the terms of the tokens from `token` on behind the first `filled` ones.

    Stops before a token whose terms may not fit into the table. Returns that token and the number
    of terms.
    """
    bounds = np.empty(MAX_TERM_BYTES + 1, np.int64)
    gram = np.empty(MAX_TERM_BYTES + 2, np.uint8)
    letters, ends, key = tokens.letters, tokens.ends, table.key
    lengths = longest - shortest + 1
    while token < len(used):
        start, end = main.starts[token], main.ends[token]
        if not used[token] or start == end:
            starts[token + 1] = filled
            token += 1
            continue
        size = table.size[0]
        width = ends[token + 1] - ends[token]
        room = end - start + lengths * width * (longest + 2)
        if (
            size + 1 + lengths * width > len(table.hashes)
            or table.ends[size] + room > len(table.letters)
        ):  # fmt: skip
            return token, filled
        terms[filled] = intern(table, main.letters, start, end)
        filled += 1
        count = letter_bounds(letters, ends[token], ends[token + 1], kinds, bounds)
        for length in range(shortest, min(longest, count - 1) + 1):
            for first in range(count - length + 1):
                size = 0
                if first > 0:
                    gram[0] = STAR
                    size = 1
                for i in range(bounds[first], bounds[first + length]):
                    gram[size] = letters[i]
                    size += 1
                if first + length < count:
                    gram[size] = STAR
                    size += 1
                if size > MAX_TERM_BYTES:
                    continue
                hashed = sip_hash(gram, 0, size, key)
                term = find(table, gram, 0, size, hashed)
                if term < 0:
                    term = add(table, gram, 0, size, hashed, -1 - term)
                terms[filled] = term
                filled += 1
        token += 1
        starts[token] = filled
    return token, filled


@njit
def add_title_terms(
    used: Bools, main: MainTerms, prefix: Bytes, table: TermTable
) -> tuple[TermTable, Ints]:
    """Return the table with the terms of titles, and the term of each token or -1."""
    chosen = np.flatnonzero(used)
    letters = 0
    for token in chosen:
        letters += len(prefix) + main.ends[token] - main.starts[token]
    table = with_room(table, len(chosen), letters)
    return table, put_title_terms(chosen, len(used), main, prefix, table)


@njit
def put_title_terms(
    chosen: Longs, tokens: int, main: MainTerms, prefix: Bytes, table: TermTable
) -> Ints:
    """Return the term of titles of the chosen tokens, -1 for others. The table must have room."""
    slots, hashes, ends, letters, size = (
        table.slots, table.hashes, table.ends, table.letters, table.size
    )  # fmt: skip
    key, width = table.key, len(prefix)
    terms = np.full(tokens, -1, np.int32)
    written = np.empty(MAX_TERM_BYTES, np.uint8)
    written[:width] = prefix
    for token in chosen:
        start, length = main.starts[token], main.ends[token] - main.starts[token]
        if length == 0 or width + length > MAX_TERM_BYTES:
            continue
        for i in range(length):
            written[width + i] = main.letters[start + i]
        length += width
        hashed = sip_hash(written, 0, length, key)
        slot = likely_slot(slots, hashes, hashed)
        term = int(slots[slot])
        if term < 0:
            term = int(size[0])
            offset = ends[term]
            for i in range(length):
                letters[offset + i] = written[i]
            hashes[term] = hashed
            ends[term + 1] = offset + length
            slots[slot] = term
            size[0] = term + 1
        else:
            i, offset = 0, ends[term]
            while i < length and letters[offset + i] == written[i]:
                i += 1
            if i < length or ends[term + 1] != offset + length:
                term = intern(table, written, 0, length)
        terms[token] = term
    return terms
