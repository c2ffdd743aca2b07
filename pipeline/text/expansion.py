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
from pipeline.text.sip_hash import sip_hash
from pipeline.text.terms import MAX_TERM_BYTES, TermTable, add, copied, find, intern

STAR = ord("*")
TITLE_PREFIX = np.frombuffer(bytearray(b"title:"), np.uint8)
TITLE_WEIGHT = 2.0


class MainTerms(NamedTuple):
    """What each token of a block becomes: `letters[starts[i]:ends[i]]`; nothing for a stop word."""

    letters: Bytes
    starts: Longs
    ends: Longs


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
    numbers = np.full(len(used), -1, np.int64)
    for token in range(len(used)):
        if used[token]:
            start, end = tokens.ends[token], tokens.ends[token + 1]
            number = find(known, tokens.letters, start, end, tokens.hashes[token])
            numbers[token] = max(number, -1)
    return numbers


@njit
def add_tokens(tokens: TermTable, chosen: Longs, known: TermTable) -> TermTable:
    """Return the other table with these tokens, which it did not have. The keys must be equal."""
    for token in chosen:
        start, end, hashed = tokens.ends[token], tokens.ends[token + 1], tokens.hashes[token]
        known = with_room(known, 1, end - start)
        slot = -1 - find(known, tokens.letters, start, end, hashed)
        add(known, tokens.letters, start, end, hashed, slot)
    return known


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
    letters, main_starts, main_ends, key = main.letters, main.starts, main.ends, table.key
    filled = 0
    for token in range(len(used)):
        start, end = main_starts[token], main_ends[token]
        if used[token] and start < end:
            hashed = sip_hash(letters, start, end, key)
            term = find(table, letters, start, end, hashed)
            if term < 0:
                term = add(table, letters, start, end, hashed, -1 - term)
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
    terms = np.full(tokens, -1, np.int32)
    term = np.empty(MAX_TERM_BYTES, np.uint8)
    term[: len(prefix)] = prefix
    for token in chosen:
        start, end = main.starts[token], main.ends[token]
        size = len(prefix) + end - start
        if start < end and size <= MAX_TERM_BYTES:
            for i in range(end - start):
                term[len(prefix) + i] = main.letters[start + i]
            terms[token] = intern(table, term, 0, size)
    return terms


@njit
def merged(
    counted: CountedTokens, groups: Ints, tokens: int, expansion: Expansion, distinct: int,
    title_weight: float, more_starts: Longs, more_terms: Ints,
) -> tuple[Longs, Ints, Floats]:  # fmt: skip
    """Add up the terms of each document; return starts, terms and values of the rows.

    Group g has the expansions from `g * tokens` on. `distinct` is the number of terms. Row i also
    has the terms `more_terms[more_starts[i]:more_starts[i + 1]]`, which may be repeated.
    """
    starts, parts, counted_tokens = counted.starts, counted.parts, counted.tokens
    firsts, expanded, title_terms = expansion.starts, expansion.terms, expansion.title_terms
    room = len(more_terms)
    for document in range(len(groups)):
        base = groups[document] * tokens
        for entry in range(starts[parts * document], starts[parts * (document + 1)]):
            token = base + counted_tokens[entry]
            room += 1 + firsts[token + 1] - firsts[token]
    out_starts = np.zeros(len(groups) + 1, np.int64)
    terms, values = np.empty(room, np.int32), np.empty(room, np.float64)
    last_row, entries = np.full(distinct, -1, np.int64), np.empty(distinct, np.int64)
    filled = 0
    for document in range(len(groups)):
        base = groups[document] * tokens
        for part in range(parts):
            row = parts * document + part
            is_title = part < parts - 1
            weight = title_weight if is_title else 1.0
            for entry in range(starts[row], starts[row + 1]):
                token = base + counted_tokens[entry]
                value = counted.values[entry] * weight
                first, last = firsts[token], firsts[token + 1]
                more = 1 if is_title and title_terms[token] >= 0 else 0
                for i in range(first, last + more):
                    term = expanded[i] if i < last else title_terms[token]
                    if last_row[term] == document:
                        values[entries[term]] += value
                    else:
                        last_row[term] = document
                        entries[term] = filled
                        terms[filled] = term
                        values[filled] = value
                        filled += 1
            for term in more_terms[more_starts[row] : more_starts[row + 1]]:
                if last_row[term] == document:
                    values[entries[term]] += weight
                else:
                    last_row[term] = document
                    entries[term] = filled
                    terms[filled] = term
                    values[filled] = weight
                    filled += 1
        out_starts[document + 1] = filled
    return out_starts, terms[:filled].copy(), values[:filled].copy()
